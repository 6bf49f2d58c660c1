// Package envvar has the variables of the environment that leakgate knows. Each has the name
// LEAKGATE_X; LEAKCHECK_X is another name for the same, which counts where the first is not set.
// Nothing else in this repository reads a variable of either prefix (internal/policy), but for
// those that only tests of this repository know.
package envvar

import (
	"os"
	"slices"
	"strings"
)

const (
	prefix = "LEAKGATE_"
	alias  = "LEAKCHECK_" // the package's name, which some of them had alone
)

// A Variable is the name of a variable without its prefix.
type Variable string

const (
	// Artifacts names the folder for records and artifacts of assertions.
	Artifacts Variable = "ARTIFACTS"
	// ArtifactsAll, if set, asks for the artifacts of all assertions, not only of those that do not
	// pass.
	ArtifactsAll Variable = "ARTIFACTS_ALL"
	// ArtifactsMax is how many assertions of one process have artifacts at most; all have a record.
	ArtifactsMax Variable = "ARTIFACTS_MAX"
	// Cache names the folder of the indexes of debug information; "off" for none.
	Cache Variable = "CACHE"
	// Freeze says how a snapshot is taken: "fork", or "inplace" as where forks are refused. For tests
	// and reports of errors.
	Freeze Variable = "FREEZE"
	// Full, if set, asks each assertion for the full way: snapshots and scans, where counters alone
	// would prove that it holds. leakgate run -full sets it.
	Full Variable = "FULL"
	// Goldens names a folder that stands for the folders of golden files of all packages: it has
	// <import path>/<golden file>. A file that is missing there is made, in CI too. leakgate run
	// sets it.
	Goldens Variable = "GOLDENS"
	// Measure, if set, asks for what a golden file would be, were it made anew, and accepts every
	// difference from it. leakgate run sets it.
	Measure Variable = "MEASURE"
	// Native is the leakgate command that names calls of C code, with which a test that it started
	// records them, or "none: " and why they are not recorded. leakgate run -native sets it.
	Native Variable = "NATIVE"
	// Repeat names the file that says what a test process of leakgate run -auto is to repeat. leakgate
	// run sets it.
	Repeat Variable = "REPEAT"
	// Strict, if set, lets an assertion that could not tell fail its test, as in CI.
	Strict Variable = "STRICT"
	// Update is 1 where golden files are to be rewritten.
	Update Variable = "UPDATE"
)

// Value is what the environment says now; "" if it says nothing. It may be called by several
// goroutines at a time.
func (v Variable) Value() string {
	value, _ := v.Lookup()
	return value
}

// Lookup also returns the variable that was found, with its prefix, for messages. It is v.Name() if
// there is none.
func (v Variable) Lookup() (value, name string) {
	for _, name := range []string{v.Name(), alias + string(v)} {
		if value, ok := os.LookupEnv(name); ok {
			return value, name
		}
	}
	return "", v.Name()
}

// Name is the variable's name in the environment.
func (v Variable) Name() string { return prefix + string(v) }

// Set is the entry of an environment that gives v a value, whatever its other name says.
func (v Variable) Set(value string) string { return v.Name() + "=" + value }

// Without returns an environment without some variables, by either name.
func Without(environ []string, without ...Variable) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.ContainsFunc(without, func(v Variable) bool { return name == v.Name() || name == alias+string(v) }) {
			kept = append(kept, entry)
		}
	}
	return kept
}
