//go:build cgo

// Package handles leaks by handles for C.
package handles

import (
	"runtime/cgo"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "handles", Cases: []judge.Case{
	{Name: "Handle", Leak: callbacks(false), Fixed: callbacks(true), Grows: judge.Objects, Culprit: `runtime/cgo\.handles`},
	{Name: "HandleOfClosure", Leak: closures(false), Fixed: closures(true), Grows: judge.Objects, Culprit: `runtime/cgo\.handles`},

	{Name: "Deleted", Healthy: callbacks(true), Grows: judge.Objects},
}}

// release deletes handles when the test ends.
func release(t *testing.T, hs *[]cgo.Handle) {
	t.Cleanup(func() {
		for _, h := range *hs {
			h.Delete()
		}
	})
}

func callbacks(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		var open []cgo.Handle
		release(t, &open)
		return func() {
			h := cgo.NewHandle(app.NewSession())
			if fixed {
				h.Delete()
				return
			}
			open = append(open, h)
		}
	}
}

func closures(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		var open []cgo.Handle
		release(t, &open)
		return func() {
			s := app.NewSession()
			h := cgo.NewHandle(func() { s.Notify() })
			if fixed {
				h.Delete()
				return
			}
			open = append(open, h)
		}
	}
}
