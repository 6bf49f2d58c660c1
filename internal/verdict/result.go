// Package verdict is the record that one assertion of a test binary leaves for the leakgate command:
// what was asserted, what came of it, and which artifacts lie beside it.
//
// A record is the file result.json in a directory of its own below LEAKGATE_ARTIFACTS:
//
//	<import path, "/" kept>/<Test>/<sub>/<n>/result.json
//
// where n counts the assertions of that test from 1. Paths in it are relative to that directory.
package verdict

import "github.com/leakgate/leakgate/refscan"

// Schema is the version of the record's form.
const Schema = 1

// FileName is the name of the record's file.
const FileName = "result.json"

// Variables of the environment that tell a test binary what to keep.
const (
	// EnvArtifacts names the directory for records and artifacts.
	EnvArtifacts = "LEAKGATE_ARTIFACTS"
	// EnvEvery, if set, asks for the artifacts of all assertions, not only of those that do not pass.
	EnvEvery = "LEAKGATE_ARTIFACTS_ALL"
	// EnvMax is how many assertions of one process have artifacts at most; all have a record.
	EnvMax = "LEAKGATE_ARTIFACTS_MAX"
	// EnvMeasure, if set, asks for what a golden file would be, were it made anew, and accepts every
	// difference from it.
	EnvMeasure = "LEAKCHECK_MEASURE"
	// EnvGoldens names a directory that stands for the folders of golden files of all packages: it has
	// <import path>/<golden file>. A file that is missing there is made, in CI too.
	EnvGoldens = "LEAKCHECK_GOLDENS"
)

// DefaultMax is the value of EnvMax where it is not set.
const DefaultMax = 20

// Verdict is the outcome of an assertion. The three are never merged.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"    // a bound is broken
	Unknown Verdict = "unknown" // could not tell
)

// Result is one assertion of one run of a test.
type Result struct {
	Schema  int     `json:"schema"`
	Package string  `json:"package"` // import path
	Test    string  `json:"test"`    // t.Name(), or "TestMain"
	Seq     int     `json:"seq"`     // nth assertion of that test, from 1
	Verdict Verdict `json:"verdict"`
	Cause   string  `json:"cause,omitempty"`  // unknown: why
	Remedy  string  `json:"remedy,omitempty"` // unknown: the way out
	File    string  `json:"file,omitempty"`   // of the assertion
	Line    int     `json:"line,omitempty"`
	Message string  `json:"message,omitempty"` // what the test printed
	Misuse  bool    `json:"misuse,omitempty"`  // fail: the assertion itself is wrong, such as a root that does not exist

	Bounds []Bound `json:"bounds,omitempty"` // those asserted, in order
	Golden *Golden `json:"golden,omitempty"` // set in golden mode

	Totals          refscan.Totals `json:"totals"`
	LiveBefore      int64          `json:"live_before_bytes,omitempty"` // of the baseline; 0: there is none
	RetainedObjects int64          `json:"retained_objects"`            // within the assertion's scope
	RetainedBytes   int64          `json:"retained_bytes"`
	SettleNS        int64          `json:"settle_ns"`
	PauseNS         int64          `json:"pause_ns"`
	ScanNS          int64          `json:"scan_ns"`

	Artifacts map[string]string `json:"artifacts,omitempty"` // kind ("retained", "heap", "report", ...) to file name
}

// Bound is one asserted bound and what was found.
type Bound struct {
	Selector   string  `json:"selector"`              // as it was written: Root("example.com/app.sessions")
	MaxObjects *int64  `json:"max_objects,omitempty"` // nil: not bounded
	MaxBytes   *int64  `json:"max_bytes,omitempty"`
	Objects    int64   `json:"objects"` // found
	Bytes      int64   `json:"bytes"`
	Verdict    Verdict `json:"verdict"`
	// What cutting one match would free, where that is bounded: the most of all matches.
	MaxRetainedObjects *int64 `json:"max_retained_objects,omitempty"`
	MaxRetainedBytes   *int64 `json:"max_retained_bytes,omitempty"`
	RetainedObjects    int64  `json:"retained_objects,omitempty"`
	RetainedBytes      int64  `json:"retained_bytes,omitempty"`

	Path string `json:"path,omitempty"` // of the largest culprit
	Type string `json:"type,omitempty"` // of what lies there
	File string `json:"file,omitempty"` // where its root is declared
	Line int    `json:"line,omitempty"`
}

// MaxBroken is how many lines of a golden file a record has at most.
const MaxBroken = 50

// Golden is the outcome of a comparison with a golden file.
type Golden struct {
	File   string `json:"file"`   // relative to the package's folder
	Status string `json:"status"` // "match", "mismatch", "missing", "created", "updated", "measured"
	Diff   string `json:"diff,omitempty"`

	Broken []Bound `json:"broken,omitempty"` // lines that do not hold, and paths without one: at most MaxBroken

	// Tighter is the text that the file could have, where less is retained than it allows and nothing more.
	Tighter string `json:"tighter,omitempty"`
}
