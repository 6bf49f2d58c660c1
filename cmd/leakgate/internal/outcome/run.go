// Package outcome determines the results of a run: of its packages, tests and assertions, and of
// the whole run. It reads the event stream of go test and the records of leakcheck. How results are
// shown is left to package present.
package outcome

import "github.com/leakgate/leakgate/internal/verdict"

// Schema is the version of the JSON form of a Run, the file leakgate.json. A new field does not
// change the version; a field that changes its meaning or is removed does.
const Schema = 1

// A Run is one run of leakgate. Paths in it have slashes. Those of artifacts are relative to the
// artifacts directory, those of source files to the root of the repository.
type Run struct {
	Schema   int    `json:"schema"`
	Leakgate string `json:"leakgate"` // version of the command
	// of the toolchain that built the tests: "go1.26.8"
	GoVersion string   `json:"go_version"`
	Command   []string `json:"command"`         // leakgate's arguments, from "leakgate" on
	Shard     *Shard   `json:"shard,omitempty"` // the part of a run that this is
	Base      *Base    `json:"base,omitempty"`  // the revision that it was compared with
	Outcome   Outcome  `json:"outcome"`
	ExitCode  int      `json:"exit_code"`
	// by a signal: tests that did not run are missing
	Interrupted    bool    `json:"interrupted,omitempty"`
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	// of leakgate run -auto: what was repeated, and what was not
	Coverage string `json:"coverage,omitempty"`
	// of -auto: how little was judged, if it is less than half or packages have no verdict
	Partial string `json:"partial,omitempty"`
	Totals  Totals `json:"totals"`
	// of the run itself, such as a record that cannot be read
	Problems []string `json:"problems,omitempty"`
	// of the run itself, none of which changes the outcome
	Notes    []string   `json:"notes,omitempty"`
	Packages []*Package `json:"packages"` // by import path
}

// Outcome is the outcome of a run as a word.
type Outcome string

// The outcomes, the one that beats all others first.
const (
	BuildError Outcome = "build-error" // a package does not build, or go test itself failed
	// an assertion is wrong itself: it names a root that does not exist, say
	Misuse      Outcome = "misuse"
	TestFailure Outcome = "test-failure" // a test failed, and not for what it retains
	Regression  Outcome = "regression"   // a bound is broken or a golden file differs
	Nothing     Outcome = "nothing"      // no assertion ran
	Unknown     Outcome = "unknown"      // could not tell
	Pass        Outcome = "pass"
)

var exitCodes = map[Outcome]int{Pass: 0, Regression: 1, BuildError: 2, Misuse: 2, Nothing: 2, Unknown: 3, TestFailure: 4}

// ExitCode is the command's exit code for o. The codes must not change, since users' CI depends on
// them.
func ExitCode(o Outcome) int { return exitCodes[o] }

// Totals counts what a run holds.
type Totals struct {
	Packages    int `json:"packages"`
	BuildErrors int `json:"build_errors"` // packages that did not build
	Tests       int `json:"tests"`        // tests, subtests, examples and benchmarks that ran
	FailedTests int `json:"failed_tests"` // all of them
	// failures of tests and packages that no assertion explains
	OtherFailures int `json:"other_failures"`
	Assertions    int `json:"assertions"`
	Pass          int `json:"pass"` // assertions, by verdict
	Fail          int `json:"fail"`
	Misused       int `json:"misused"` // of those that fail
	Unknown       int `json:"unknown"`
	Known         int `json:"known,omitempty"` // of those that fail: they fail in the base too
}

// Status says how a package or test ended, as the go command reports it.
type Status string

// The statuses.
const (
	StatusPass        Status = "pass"
	StatusFail        Status = "fail"
	StatusSkip        Status = "skip"         // a package without tests, or a skipped test
	StatusBuildFailed Status = "build-failed" // packages only
	StatusInterrupted Status = "interrupted"  // a signal to leakgate ended it
	StatusNone        Status = ""             // it did not end
)

// A Package is one package's tests.
type Package struct {
	ImportPath     string  `json:"import_path"`
	Dir            string  `json:"dir,omitempty"` // its folder
	Status         Status  `json:"status"`
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	Tests          int     `json:"tests"` // that ran
	// the tests that ran, in the order in which they began
	Cases []Case `json:"cases,omitempty"`
	// the test binary did not reach its end: a panic, a time-out, os.Exit, a signal
	Crashed bool `json:"crashed,omitempty"`
	// the limit for which the kernel killed the test binary, since memory ran out:
	// "memory.max of the cgroup /app is 512 MiB"
	Lack     string    `json:"lack_of_memory,omitempty"`
	Failures []Failure `json:"failures,omitempty"`
	// in the order in which their tests began, then by Seq
	Assertions []*Assertion `json:"assertions,omitempty"`
}

// A GoldenChange is one line of a golden file that was changed.
type GoldenChange struct {
	Kind string `json:"kind"` // "added", "removed", "widened", "tightened"
	Text string `json:"text"`
}

// A Case is one test, subtest, example or benchmark that ran. With -count it is all of its runs:
// the worst status, and their time together.
type Case struct {
	Test           string  `json:"test"`
	Status         Status  `json:"status"` // "" if it did not end
	ElapsedSeconds float64 `json:"elapsed_seconds"`
}

// A Failure is a failed test, or with no Test the package's own failure.
type Failure struct {
	Test string `json:"test,omitempty"`
	Kind Kind   `json:"kind"`

	Output string `json:"output,omitempty"` // what it printed, the middle left out if it is long
}

// Kind says what a failure comes from.
type Kind string

// The kinds of failure.
const (
	KindMisuse     Kind = "misuse"     // an assertion of the test is wrong itself
	KindRegression Kind = "regression" // an assertion of the test says fail
	KindUnknown    Kind = "unknown"    // an assertion of the test says unknown
	KindSubtests   Kind = "subtests"   // it failed because subtests did
	KindOther      Kind = "other"      // anything else
)

// An Assertion is one record of leakcheck. The paths in its Artifacts are relative to the artifacts
// directory.
type Assertion struct {
	verdict.Result
	Dir      string    `json:"dir"`                // where its artifacts lie
	Known    bool      `json:"known,omitempty"`    // it fails in the base too, with as much
	Findings []Finding `json:"findings,omitempty"` // what is wrong, unless it passed or is known

	// what the run changed in its golden file
	GoldenChanges []GoldenChange `json:"golden_changes,omitempty"`
}
