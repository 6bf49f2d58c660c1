// Package envvar has the environment variables that leakgate reads. Each has the name LEAKGATE_X;
// LEAKCHECK_X is an alias, which counts if the first is not set. Nothing else in this repository
// reads a variable with either prefix (internal/policy), except for variables that only tests of
// this repository know.
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
	// Alone names the folder where a process leaves the outcomes of assertions. leakcheck sets it
	// where it runs one test again, or a few.
	Alone Variable = "ALONE"
	// Artifacts names the folder for records and artifacts of assertions.
	Artifacts Variable = "ARTIFACTS"
	// ArtifactsAll, if set, asks for the artifacts of all assertions, not only of those that do not
	// pass.
	ArtifactsAll Variable = "ARTIFACTS_ALL"
	// ArtifactsMax is how many assertions of one process have artifacts at most; all have a record.
	ArtifactsMax Variable = "ARTIFACTS_MAX"
	// Cache names the folder of the indexes of debug information; "off" for none.
	Cache Variable = "CACHE"
	// Examples, if "off", keeps what is in objects out of messages and artifacts.
	Examples Variable = "EXAMPLES"
	// Freeze says how a snapshot is taken: "fork", or "inplace" as where forks are refused. For
	// tests and reports of errors.
	Freeze Variable = "FREEZE"
	// Full, if set, makes each assertion take snapshots and scan them, even where counters alone
	// would prove that it holds. leakgate run -full sets it.
	Full Variable = "FULL"
	// Goldens names a folder that replaces the folders of golden files of all packages: it has
	// <import path>/<golden file>. A file that is missing there is made, in CI too. leakgate run
	// sets it.
	Goldens Variable = "GOLDENS"
	// Measure, if set, asks for what a golden file would be, were it made anew, and accepts every
	// difference from it. leakgate run sets it.
	Measure Variable = "MEASURE"
	// Native is the leakgate command that records and names calls of C code for a test that it
	// started, or "none: " and why they are not recorded. leakgate run -native sets it.
	Native Variable = "NATIVE"
	// Repeat names the file that tells a test process of leakgate run -auto what to repeat.
	// leakgate run sets it.
	Repeat Variable = "REPEAT"
	// Strict, if set, lets an assertion that could not tell fail its test, as in CI.
	Strict Variable = "STRICT"
	// Suppressed has the patterns of leakgate.ignore, a line each: what they match claims objects
	// last. leakgate run -auto sets it.
	Suppressed Variable = "SUPPRESSED"
	// Update is 1 where golden files are to be rewritten.
	Update Variable = "UPDATE"
)

// all has every variable; internal/policy checks that.
var all = [...]Variable{Alone, Artifacts, ArtifactsAll, ArtifactsMax, Cache, Examples, Freeze, Full, Goldens, Measure, Native, Repeat, Strict, Suppressed, Update}

// Names returns the names of all variables in the environment, aliases included.
func Names() []string {
	var names []string
	for _, v := range all {
		names = append(names, v.Name(), alias+string(v))
	}
	return names
}

// entry is a variable as it was found; without a name it was not.
type entry struct{ value, name string }

// atStart has the variables as they were when the process started, in the order of all. A test may
// empty the environment (os.Clearenv): what leakgate told the test binary counts still.
var atStart = func() (entries []entry) {
	for _, v := range all {
		entries = append(entries, v.inEnvironment())
	}
	return entries
}()

// Value is the value in the environment at the time of the call, else the one at the start of the
// process; "" if there is none. Several goroutines may call it at once.
func (v Variable) Value() string {
	value, _ := v.Lookup()
	return value
}

// Lookup returns the value, and for messages the name under which it was found, with its prefix.
// The name is v.Name() if there is no value.
func (v Variable) Lookup() (value, name string) {
	found := v.inEnvironment()
	if found.name == "" {
		if i := slices.Index(all[:], v); i >= 0 {
			found = atStart[i]
		}
	}
	if found.name == "" {
		return "", v.Name()
	}
	return found.value, found.name
}

func (v Variable) inEnvironment() entry {
	for _, name := range []string{v.Name(), alias + string(v)} {
		if value, ok := os.LookupEnv(name); ok {
			return entry{value, name}
		}
	}
	return entry{}
}

// Name is the variable's name in the environment.
func (v Variable) Name() string { return prefix + string(v) }

// Set returns the entry of an environment that gives v a value, whatever its alias is set to.
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
