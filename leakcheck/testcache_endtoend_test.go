package leakcheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// The go command takes a pass from its cache only while nothing has changed that the pass depends
// on. VerifyTestMain reads that after the tests, AssertRetained while one runs.
func TestEndToEndTestCache(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	for _, p := range []struct {
		dir, golden        string
		flags              []string
		line, tight, loose string
	}{
		{"whole", "TestMain.golden", nil, "        3            24  ", "        2            16  ", "        4            32  "},
		{".", "TestGolden.golden", []string{"-run=^TestGolden$"}, "      100          4800  ", "       99          4752  ", "      101          4848  "},
	} {
		t.Run(p.golden, func(t *testing.T) {
			file := filepath.Join(m.dir, p.dir, "testdata", "leakcheck", p.golden)
			goTest := func(env ...string) (string, bool) {
				return m.run(t, p.dir, append(env, "ITEMS=3"), append([]string{"go", "test", "."}, p.flags...)...)
			}
			// write writes the golden file as of a time that goes with its text: the go command
			// looks at size and time, and does not use its cache for files of the last seconds.
			write := func(text string) {
				t.Helper()
				at := time.Unix(1_700_000_000, 0)
				if !strings.Contains(text, p.line) {
					at = at.Add(time.Hour)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(file, at, at); err != nil {
					t.Fatal(err)
				}
			}
			if out, ok := goTest(); !ok {
				t.Fatal(out)
			}
			data, err := os.ReadFile(file)
			made := string(data)
			if err != nil || !strings.Contains(made, p.line) {
				t.Fatal(err, made)
			}
			write(made)
			if out, ok := goTest(); !ok {
				t.Fatal(out)
			}
			edit := func(line string) func() {
				return func() { write(strings.Replace(made, p.line, line, 1)) }
			}
			for _, tt := range []struct {
				name   string
				change func()
				env    []string
				ok     bool
				part   string
			}{
				{"nothing", func() {}, nil, true, "(cached)"},
				{"edited", edit(p.tight), nil, false, "leakcheck: more is retained than the golden file allows"},
				{"put back", edit(p.line), nil, true, "(cached)"},
				{"removed, with CI", func() { _ = os.Remove(file) }, []string{"CI=1"}, false, "leakcheck: there is no golden file"},
				{"updated", edit(p.loose), []string{"LEAKGATE_UPDATE=1"}, true, "ok "},
			} {
				tt.change()
				out, ok := goTest(tt.env...)
				if ok != tt.ok || !strings.Contains(out, tt.part) || strings.Contains(out, "(cached)") != (tt.part == "(cached)") {
					t.Errorf("%s: passed is %v, want %v and %q:\n%s", tt.name, ok, tt.ok, tt.part, out)
				}
			}
			if data, err := os.ReadFile(file); err != nil || string(data) != made {
				t.Errorf("LEAKGATE_UPDATE wrote nothing: %v\n%s", err, data)
			}
		})
	}
}
