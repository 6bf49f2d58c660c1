package policy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/envvar"
)

// ownVariable is the name of an environment variable with one of the two prefixes.
var ownVariable = regexp.MustCompile(`"LEAK(?:GATE|CHECK)_[A-Z_]*["=]`)

// readsOwnVariable lists the files outside tests that may name such a variable: envvar, which reads
// all variables for users, and files with variables that only this repository's tests and tools
// use.
var readsOwnVariable = map[string]bool{
	"internal/envvar/envvar.go":             true,
	"internal/testkit/heaptest/capture.go":  true, // LEAKGATE_SEED
	"internal/testkit/require/slow.go":      true, // LEAKGATE_SLOW
	"internal/testkit/progtest/progtest.go": true, // LEAKGATE_LONG
	"internal/tests/tables/gotool.go":       true, // LEAKGATE_SLOW, LEAKGATE_ACCURACY
	"internal/tests/tables/module.go":       true,
	"internal/tests/tables/suite.go":        true,
	// LEAKGATE_BENCH_OBJECTS; LEAKGATE_CACHE of the benchmarks it runs
	"internal/tests/tables/measurement.go": true,
}

// TestVariables checks that the variables for users are read in one place, under both prefixes, and
// that doc/environment.md and envvar.Names list them all.
func TestVariables(t *testing.T) {
	used := make(map[string]bool)
	for _, file := range trackedFiles(t) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testdata/") || strings.HasPrefix(file, "examples/") {
			continue
		}
		for _, name := range ownVariable.FindAllString(readFile(t, file), -1) {
			if used[file] = true; !readsOwnVariable[file] {
				t.Errorf("%s: %s: use internal/envvar", file, name)
			}
		}
	}
	for file := range readsOwnVariable {
		if !used[file] {
			t.Errorf("%s names no variable any more: take it out of the list", file)
		}
	}
	documents := readFile(t, "doc/environment.md")
	known := regexp.MustCompile(`(?m)^\t[A-Z]\w+ +Variable = "([A-Z_]+)"$`).FindAllStringSubmatch(readFile(t, "internal/envvar/envvar.go"), -1)
	if len(known) == 0 {
		t.Error("internal/envvar has no variables")
	}
	for _, v := range known {
		if !strings.Contains(documents, "\n| `LEAKGATE_"+v[1]+"` |") {
			t.Errorf("doc/environment.md has no row for LEAKGATE_%s", v[1])
		}
		if !slices.Contains(envvar.Names(), "LEAKGATE_"+v[1]) {
			t.Errorf("envvar.Names leaves out LEAKGATE_%s", v[1])
		}
	}
}
