package page

import (
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// Data is all that a page shows.
type Data struct {
	Title     string   `json:"title"`
	Leakgate  string   `json:"leakgate"`
	GoVersion string   `json:"go_version,omitempty"`
	Command   []string `json:"command,omitempty"`
	Outcome   string   `json:"outcome,omitempty"` // "" for a profile alone
	Elapsed   float64  `json:"elapsed_seconds,omitempty"`
	Base      string   `json:"base,omitempty"`
	Failed    int      `json:"failed"`
	Unknown   int      `json:"unknown"`
	Passed    int      `json:"passed"`
	Known     int      `json:"known,omitempty"`
	Problems  []string `json:"problems,omitempty"`
	Notes     []string `json:"notes,omitempty"`
	// of tests and packages that no assertion explains
	Failures []Failure `json:"failures,omitempty"`
	// where pprof's pages are, if they are served
	Pprof      string       `json:"pprof,omitempty"`
	Assertions []*Assertion `json:"assertions"` // the worst first
	Trees      []*Tree      `json:"trees"`
	Texts      []string     `json:"texts"`
}

// A Failure is a test or package that failed for another reason than what it retains.
type Failure struct {
	Name   string `json:"name"`
	Output string `json:"output"`
}

// An Assertion is an assertion of a run, or a profile.
type Assertion struct {
	Package string `json:"package"`
	Test    string `json:"test"`
	Seq     int    `json:"seq"`
	// "pass", "fail", "unknown", "known", or "" for a profile
	Verdict    string          `json:"verdict"`
	Misuse     bool            `json:"misuse,omitempty"`
	Place      *Place          `json:"place,omitempty"`
	Message    string          `json:"message,omitempty"`
	Cause      string          `json:"cause,omitempty"`
	Remedy     string          `json:"remedy,omitempty"`
	Live       int64           `json:"live,omitempty"`
	LiveBefore int64           `json:"live_before,omitempty"`
	Objects    int64           `json:"objects"`
	Bytes      int64           `json:"bytes"`
	PauseNS    int64           `json:"pause_ns,omitempty"`
	ScanNS     int64           `json:"scan_ns,omitempty"`
	Findings   []Finding       `json:"findings,omitempty"`
	Bounds     []verdict.Bound `json:"bounds,omitempty"` // those that are not broken
	Golden     *verdict.Golden `json:"golden,omitempty"`
	Views      []View          `json:"views,omitempty"`
	Missing    string          `json:"missing,omitempty"` // why there is no tree
}

// A Finding is a finding of an assertion, with its place in the source, and with its holders as the
// record has them.
type Finding struct {
	outcome.Finding
	Place      *Place         `json:"place,omitempty"`
	HeldBy     []string       `json:"held_by,omitempty"`
	Chain      []verdict.Link `json:"chain,omitempty"`
	AlsoHeldBy []string       `json:"also_held_by,omitempty"`
}

// A View is one of the trees of an assertion.
type View struct {
	// "retained", "types", "allocations", "goroutines", "stacks", "heap"
	Kind   string `json:"kind"`
	Title  string `json:"title"`
	Tree   int    `json:"tree"`
	Before *int   `json:"before,omitempty"` // the tree to compare it with
	// BeforeTitle says what Before is.
	BeforeTitle string `json:"before_title,omitempty"`
}
