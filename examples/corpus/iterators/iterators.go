// Package iterators leaks by iterators that are not run to their end.
package iterators

import (
	"iter"
	"maps"
	"slices"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "iterators", Cases: []judge.Case{
	{Name: "Pull", Leak: judge.Op(first), Fixed: judge.Op(firstAndStop), Grows: judge.Goroutines, Culprit: `iterators\.(first|sessions)`},
	{Name: "Pull2", Leak: judge.Op(firstPair), Fixed: judge.Op(firstPairAndStop), Grows: judge.Goroutines, Culprit: `iterators\.(firstPair|pairs)`},
	{Name: "PullHeld", Leak: cursors(false), Fixed: cursors(true), Grows: judge.Goroutines, Culprit: `iterators\.`},
	{Name: "Zip", Leak: judge.Op(zip(false)), Fixed: judge.Op(zip(true)), Grows: judge.Goroutines, Culprit: `iterators\.(zip|sessions)`},
	{Name: "SequencesKept", Leak: sequences(false), Fixed: sequences(true), Grows: judge.Objects, Culprit: `iterators\.pending`},

	{Name: "Break", Healthy: judge.Op(breakEarly), Grows: judge.Objects},
	{Name: "PullToEnd", Healthy: judge.Op(pullToEnd), Grows: judge.Goroutines},
	{Name: "Collect", Healthy: judge.Op(collect), Grows: judge.Objects},
}}

func sessions(n int) iter.Seq[*app.Session] {
	return func(yield func(*app.Session) bool) {
		for range n {
			if !yield(app.NewSession()) {
				return
			}
		}
	}
}

func pairs(n int) iter.Seq2[int, *app.Session] {
	return func(yield func(int, *app.Session) bool) {
		for i := range n {
			if !yield(i, app.NewSession()) {
				return
			}
		}
	}
}

func first() {
	next, stop := iter.Pull(sessions(10))
	_ = stop
	next()
}

func firstAndStop() {
	next, stop := iter.Pull(sessions(10))
	defer stop()
	next()
}

func firstPair() {
	next, stop := iter.Pull2(pairs(10))
	_ = stop
	next()
}

func firstPairAndStop() {
	next, stop := iter.Pull2(pairs(10))
	defer stop()
	next()
}

// A cursor goes through what a query has found.
type cursor struct {
	next func() (*app.Session, bool)
	stop func()
}

func cursors(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		open := map[int]*cursor{}
		t.Cleanup(func() {
			for _, c := range open {
				c.stop()
			}
		})
		return func() {
			c := &cursor{}
			c.next, c.stop = iter.Pull(sessions(3))
			c.next()
			id := app.Next()
			open[id] = c
			if fixed {
				c.stop()
				delete(open, id)
			}
		}
	}
}

// zip goes through two sequences, of which one is longer.
func zip(fixed bool) func() {
	return func() {
		next, stop := iter.Pull(sessions(5))
		if fixed {
			defer stop()
		}
		for range sessions(3) {
			if _, ok := next(); !ok {
				return
			}
		}
	}
}

var pending []iter.Seq[*app.Session]

func sequences(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { pending = nil })
		return func() {
			if fixed {
				pending = pending[:0]
			}
			pending = append(pending, slices.Values([]*app.Session{app.NewSession()}))
		}
	}
}

func breakEarly() {
	for s := range sessions(10) {
		s.Notify()
		break
	}
}

func pullToEnd() {
	next, stop := iter.Pull(sessions(3))
	_ = stop
	for {
		if _, ok := next(); !ok {
			return
		}
	}
}

func collect() {
	m := maps.Collect(pairs(10))
	_ = slices.Sorted(maps.Keys(m))
}
