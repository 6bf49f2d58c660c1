package assertion

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// Bounds on variables and types may be proved without a snapshot, unless something else counts.
func TestProof(t *testing.T) {
	own := atMost(200, "app.sessions")
	ignore := func(r *request.Request) { r.Ignore("app.cache", "bounded") }
	files := func(r *request.Request) {
		r.LimitResources(request.ResourceOption{Shown: "Files()", Written: "Files().Max(9)", Kind: ledger.Descriptor, Limit: 9})
	}
	goroutines := func(r *request.Request) {
		r.LimitGoroutines(request.GoroutineOption{GoroutineSelector: request.NewGoroutineSelector("Goroutines", "app.run"), Written: "Goroutines(...)", Limit: 9})
	}
	for name, c := range map[string]struct {
		options []func(*request.Request)
		env     environ.Environment
		asked   string // "": a snapshot is taken
		method  verdict.Method
	}{
		"variable":   {[]func(*request.Request){own}, environ.Environment{}, "sessions 200", verdict.ByReach},
		"two":        {[]func(*request.Request){own, atMost(0, "app.cache")}, environ.Environment{}, "sessions 200, cache 0", verdict.ByReach},
		"type":       {[]func(*request.Request){own, atMostOf(7, "app.Session")}, environ.Environment{}, `sessions 200, TypeNamed("app.Session") 7`, verdict.ByTypes},
		"wildcard":   {[]func(*request.Request){own, atMost(200, "app.s*")}, environ.Environment{}, "", ""},
		"scope":      {[]func(*request.Request){own, func(r *request.Request) { r.Narrow([]string{"example.com/app"}) }}, environ.Environment{}, "", ""},
		"ignore":     {[]func(*request.Request){own, ignore}, environ.Environment{}, "", ""},
		"files":      {[]func(*request.Request){own, files}, environ.Environment{}, "", ""},
		"goroutines": {[]func(*request.Request){own, goroutines}, environ.Environment{}, "", ""},
		"full":       {[]func(*request.Request){own, func(r *request.Request) { r.Full = true }}, environ.Environment{}, "", ""},
		"all full":   {[]func(*request.Request){own}, environ.Environment{Full: true}, "", ""},
		"all kept":   {[]func(*request.Request){own}, environ.Environment{Every: true, Artifacts: "x"}, "", ""},
		"not kept":   {[]func(*request.Request){own}, environ.Environment{Every: true}, "sessions 200", verdict.ByReach},
		"measured":   {[]func(*request.Request){own}, environ.Environment{Measure: true}, "", ""},
		"golden":     {nil, environ.Environment{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.env.Full, w.env.Every, w.env.Artifacts, w.env.Measure = c.env.Full, c.env.Every, c.env.Artifacts, c.env.Measure
			var asked []string
			w.Prove = func(_ context.Context, claims proof.Claims) (bool, []string, error) {
				for _, v := range claims.Variables {
					asked = append(asked, fmt.Sprintf("%s %d", v.Ident, v.MaxObjects))
					v.Objects, v.Bytes = 5, 50
				}
				for _, v := range claims.Types {
					asked = append(asked, fmt.Sprintf("%s %d", v.Name, v.MaxObjects))
					v.Objects, v.Bytes = 6, 60
				}
				return true, []string{"built a twin"}, nil
			}
			w.err = errors.New("a snapshot")
			a := w.begin(&fakeT{}, c.options...)
			a.file = "x.golden"
			o := a.Judge()
			assert.Equal(t, c.asked, strings.Join(asked, ", "))
			if c.asked == "" {
				assert.Equal(t, verdict.Unknown, o.Verdict)
				return
			}
			assert.Equal(t, []any{verdict.Pass, c.method, []string{"built a twin"}}, []any{o.Verdict, o.Method, o.Notes})
			assert.Empty(t, w.asked)
			require.Len(t, o.Bounds, len(asked))
			b := o.Bounds[0]
			assert.Equal(t, []any{`Root("app.sessions")`, int64(200), int64(5), int64(50), verdict.Pass}, []any{b.Selector, *b.MaxObjects, b.Objects, b.Bytes, b.Verdict})
		})
	}
}

// What is not proved is judged by snapshots. If debug information cannot be had, no snapshot helps.
func TestNoProof(t *testing.T) {
	w := newWorld(t, sessions(2))
	within, err := false, error(nil)
	w.Prove = func(ctx context.Context, _ proof.Claims) (bool, []string, error) {
		if err == context.DeadlineExceeded {
			<-ctx.Done()
		}
		return within, []string{"slow"}, err
	}
	o := w.begin(&fakeT{}, atMost(6, "app.sessions")).Judge()
	assert.Equal(t, []any{verdict.Pass, 1}, []any{o.Verdict, w.snapshots})
	assert.Equal(t, []string{"slow"}, o.Notes)

	err = errors.New("no debug information")
	o = w.begin(&fakeT{}, atMost(6, "app.sessions")).Judge()
	assert.Equal(t, []any{verdict.Unknown, 1, err}, []any{o.Verdict, w.snapshots, o.Err})

	err = context.DeadlineExceeded
	o = w.begin(&fakeT{timeout: environ.MinReserve + time.Millisecond}, atMost(6, "app.sessions")).Judge()
	assert.Equal(t, verdict.Unknown, o.Verdict)
	assert.Contains(t, o.Message, "which is too soon to go on: the program's debug information could not be had so soon")
}
