// Package judge tests AssertNoGrowth with programs of which it is known whether they leak.
package judge

import "testing"

// A Case is either a leak beside its fixed twin, or a healthy program that looks like a leak.
type Case struct {
	Name string // unique in its group

	Leak, Fixed Setup // of a leak
	Healthy     Setup // of a healthy program, alone

	// Grows is a figure of the runtime, or of the program itself, that grows with each call of the
	// leak, and not with calls of its fixed twin or of a healthy program. With it the judge checks
	// that the case is what it claims to be.
	Grows Measure

	// Culprit is a regular expression. The first lines of the message about the leak match it: the
	// title of the first finding, and what follows up to the first blank line.
	Culprit string

	// Also is a text that must be anywhere in the message.
	Also string

	// CulpritWithRace takes the place of Culprit with -race, if it is not empty: what Culprit names
	// is not judged with the race detector.
	CulpritWithRace string
	// SaysWithRace is a text in the log with -race, if AssertNoGrowth cannot judge the leak with
	// -race.
	SaysWithRace string

	// Calls is the number of calls of the operation in the first batch; 0: as many as the measure
	// Grows takes, at most 15.
	Calls int

	// Pending says why the leak is not found yet, or is named wrongly, and PendingTwin why its
	// fixed twin, or the healthy program, is reported. A case that is pending and judged rightly
	// fails, so that no mark outlives its reason.
	Pending, PendingTwin string
}

// A Setup prepares a program and returns the operation that is called again and again. What it
// registers with t.Cleanup releases what the operation has left, as far as that can be done.
type Setup func(t *testing.T) (op func())

// Op is the Setup of an operation that needs none. The functions reset release what it leaves in
// package variables.
func Op(op func(), reset ...func()) Setup {
	return func(t *testing.T) func() {
		for _, f := range reset {
			t.Cleanup(f)
		}
		return op
	}
}

// A Group has the cases of one subject.
type Group struct {
	Name  string
	Cases []Case
}
