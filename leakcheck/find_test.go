package leakcheck

import (
	"errors"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/refscan"
)

func (w *world) find(opts ...Option) error { return found(w.Find(environ.Site{}, newRequest(opts))) }

func TestFind(t *testing.T) {
	w := newWorld(t, report(sessions(9)))
	if err := w.find(Root("app.sessions").MaxObjects(900)); err != nil {
		t.Error(err)
	}

	bound := Root("app.sessions").MaxObjects(2)
	err := w.find(bound)
	var found *FoundError
	if !errors.As(err, &found) || len(found.Findings) != 1 {
		t.Fatal(err)
	}
	if f := found.Findings[0]; f.Selector != `Root("app.sessions")` || f.Objects != 23 || !strings.HasPrefix(f.Path, "example.com/app.sessions") {
		t.Errorf("%+v", f)
	}
	ft, _ := newWorld(t, report(sessions(9))).assert(bound)
	if message, _, _ := strings.Cut(ft.errorText(), "\nfor a profile"); err.Error() != message {
		t.Errorf("not the message of AssertRetained:\n%s", err)
	}

	var unknown *UnknownError
	for part, opts := range map[string][]Option{
		"Find has no test to name a golden file after": nil,
		"a bound cannot be negative":                   {Root("app.sessions").MaxObjects(-1)},
		"no package variable or function of that name": {Root("app.session").None()},
		"there is no golden file testdata/leakcheck/x": {Golden("x")},
	} {
		err := w.find(opts...)
		if err == nil || !strings.Contains(err.Error(), part) || errors.As(err, &found) || errors.As(err, &unknown) {
			t.Errorf("%s: %v", part, err)
		}
	}
	if text := w.goldenText(t, "x.golden"); text != "" {
		t.Errorf("it wrote a golden file:\n%s", text)
	}

	w.err = &refscan.UnavailableError{Cause: "no fork", Remedy: "allow it"}
	err = w.find(bound)
	var unavailable *refscan.UnavailableError
	if !errors.As(err, &unknown) || !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "remedy: allow it") {
		t.Error(err)
	}
}
