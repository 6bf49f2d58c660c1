package leakcheck

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/require"
)

// TestWithoutDebugInformation runs stripped test binaries where there is no toolchain to link them
// again with, as on another machine.
func TestWithoutDebugInformation(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	modes := []string{""}
	if os.Getenv("LEAKGATE_LONG") != "" {
		modes = append(modes, "-buildmode=pie", "-race")
	}
	for _, mode := range modes {
		t.Run("build"+mode, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), "unnamed.test")
			build := []string{"go", "test", "-c", "-o", binary, "-trimpath", "-ldflags=-s -w"}
			if mode != "" {
				build = append(build, mode)
			}
			if out, ok := m.run(t, "unnamed", nil, build...); !ok {
				t.Fatal("\n" + out)
			}
			out, _ := m.run(t, "unnamed", []string{"PATH=", "GOROOT=", "LEAKGATE_CACHE=off"}, binary, "-test.v")
			checkUnnamed(t, out)
		})
	}
}

func checkUnnamed(t *testing.T, out string) {
	t.Helper()
	const (
		cause   = "the test has no debug information, and no go command was found to link it again"
		noNames = "paths have no names of variables: " + cause + "; put go 1."
		unknown = "UNKNOWN: could not tell what is retained"
	)
	for test, want := range map[string][]string{
		"TestNone PASS":            {noNames},
		"TestHeldByInterface FAIL": {noNames, "Type[unnamed.record]().MaxObjects(1)\n", "found 2 objects", "(unnamed global)", "└─ ?  *unnamed.record"},
		"TestHeldByTable FAIL":     {noNames, `TypeNamed("unnamed.record").MaxObjects(99)`, "found 100 objects", "?  *[100]*unnamed.record", "[*]  *unnamed.record"},
		"TestDoubt FAIL":           {noNames, unknown, cause + "; without it, Type[unnamed.record]() may have 3 objects more: objects of unknown type"},
		"TestDoubtOfNames FAIL":    {unknown, cause + `; without it, TypeNamed("unnamed.record") cannot be told`},
		"TestDoubtOfMaps FAIL":     {unknown, cause + "; without it, Type[map[string]*unnamed.record]() cannot be told"},
		"TestRoot FAIL":            {unknown, cause + "\n"},
		"TestScope FAIL":           {unknown, cause + "\n"},
		"TestGolden FAIL":          {unknown, cause + "\n"},
		"TestGrowth FAIL":          {unknown, cause + "\n"},
	} {
		name, result, _ := strings.Cut(test, " ")
		output := regexp.MustCompile(`(?s)=== RUN   ` + name + `\n(.*?)--- ` + result + `: ` + name + ` `).FindStringSubmatch(out)
		if output == nil {
			t.Errorf("%s: want %s", name, result)
			continue
		}
		for _, part := range want {
			if !strings.Contains(output[1], part) {
				t.Errorf("%s: no %q", name, part)
			}
		}
		if result == "PASS" && strings.Contains(output[1], "UNKNOWN") {
			t.Errorf("%s: unknown", name)
		}
	}
	if strings.Count(out, "more is retained than the test allows") != 2 {
		t.Error("want two bounds that are broken")
	}
	if t.Failed() {
		t.Log("\n" + out)
	}
}
