// Package shapes leaks at other rates than one object at each call, and grows without leaking.
package shapes

import (
	"math/bits"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "shapes", Cases: []judge.Case{
	{Name: "MoreEachTime", Leak: moreEachTime(false), Fixed: moreEachTime(true), Grows: judge.Objects.After(30).PerCall(30), Calls: 10, Culprit: `shapes\.generations`},
	{Name: "LongerEachTime", Leak: longerEachTime(false), Fixed: longerEachTime(true), Grows: judge.Bytes(500).After(50), Calls: 10, Culprit: `shapes\.copies`},
	{Name: "Seldom", Leak: seldom(false), Fixed: seldom(true), Grows: judge.Objects.PerCall(0.1), Calls: 100, Culprit: `shapes\.failures`},
	{Name: "Many", Leak: many(false), Fixed: many(true), Grows: judge.Objects.PerCall(50).After(40), Calls: 10, Culprit: `shapes\.imports`},
	{Name: "Doubled", Leak: doubled(false), Fixed: doubled(true), Grows: judge.Objects.PerCall(2), Culprit: `shapes\.(left|right)`},
	{Name: "InTurns", Leak: inTurns(false), Fixed: inTurns(true), Grows: judge.Objects, Culprit: `shapes\.shards`},
	{Name: "BytesAlone", Leak: bytesAlone(false), Fixed: bytesAlone(true), Grows: judge.Bytes(80).After(2000), Calls: 200, Culprit: `shapes\.bitmap`},
	{Name: "MoreGoroutines", Leak: moreGoroutines(false), Fixed: moreGoroutines(true), Grows: judge.Goroutines.After(5).PerCall(5), Calls: 3, Culprit: `shapes\.listen`},
	{Name: "DeepStack", Leak: parked(false), Fixed: parked(true), Grows: judge.Goroutines, Culprit: `shapes\.descend`},

	{Name: "Logarithm", Healthy: logarithm, Grows: judge.Objects},
	{Name: "Alternating", Healthy: alternating, Grows: judge.Objects},
	{Name: "Amortised", Healthy: amortised, Grows: judge.Bytes(100)},
	{Name: "LazyTable", Healthy: lazyTable, Grows: judge.Objects},
}}

// moreEachTime leaves one object more at each call than at the one before.
var generations [][]*app.Session

func moreEachTime(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { generations = nil })
		n := 0
		return func() {
			if n++; fixed {
				n, generations = 1, nil
			}
			next := make([]*app.Session, n)
			for i := range next {
				next[i] = app.NewSession()
			}
			generations = append(generations, next)
		}
	}
}

var (
	line   []int64
	copies [][]int64
)

// longerEachTime keeps a copy of what there is so far, which takes bytes by the square of the
// calls.
func longerEachTime(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { line, copies = nil, nil })
		return func() {
			if line = append(line, int64(app.Next())); fixed {
				line, copies = line[:1], nil
			}
			copies = append(copies, append([]int64(nil), line...))
		}
	}
}

var failures []*app.Session

// seldom leaks where something has gone wrong, which is once in ten calls.
func seldom(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { failures = nil })
		n := 0
		return func() {
			if n++; n%10 != 0 {
				return
			}
			if fixed {
				failures = failures[:0]
			}
			failures = append(failures, app.NewSession())
		}
	}
}

var imports = map[int][]*app.Session{}

func many(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(imports) })
		return func() {
			id := app.Next()
			for range 50 {
				imports[id] = append(imports[id], app.NewSession())
			}
			if fixed {
				delete(imports, id)
			}
		}
	}
}

var left, right []*app.Session

func doubled(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { left, right = nil, nil })
		return func() {
			if fixed {
				left, right = nil, nil
			}
			left, right = append(left, app.NewSession()), append(right, app.NewSession())
		}
	}
}

// shards share the load, so that each grows at every eighth call.
var shards [8]map[string]*app.Session

func inTurns(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { shards = [8]map[string]*app.Session{} })
		return func() {
			i := app.Next() % len(shards)
			if shards[i] == nil || fixed {
				shards[i] = map[string]*app.Session{}
			}
			s := app.NewSession()
			shards[i][s.ID] = s
		}
	}
}

// bitmap has no pointers and stays one object.
var bitmap []uint64

func bytesAlone(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { bitmap = nil })
		return func() {
			if fixed && len(bitmap) > 1000 {
				bitmap = bitmap[:0]
			}
			bitmap = append(bitmap, make([]uint64, 15)...)
		}
	}
}

func listen(stop chan struct{}, s *app.Session) {
	<-stop
	s.Expire()
}

func moreGoroutines(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		all := make(chan struct{})
		t.Cleanup(func() { close(all) })
		n := 0
		return func() {
			stop := all
			if fixed {
				stop = make(chan struct{})
				defer close(stop)
			}
			n++
			for range n {
				go listen(stop, app.NewSession())
			}
		}
	}
}

func descend(depth int, stop chan struct{}) {
	if depth > 0 {
		descend(depth-1, stop)
		return
	}
	<-stop
}

func parked(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		all := make(chan struct{})
		t.Cleanup(func() { close(all) })
		return func() {
			stop := all
			if fixed {
				stop = make(chan struct{})
				defer close(stop)
			}
			go descend(50, stop)
		}
	}
}

// The table has a slot for each power of two. A new slot is filled each time that the number of
// calls has doubled.
func logarithm(*testing.T) func() {
	table := map[int]*app.Session{}
	n := uint(0)
	return func() {
		n++
		table[bits.Len(n)] = app.NewSession()
	}
}

func alternating(*testing.T) func() {
	var some []*app.Session
	return func() {
		if len(some) > 7 {
			some = nil
			return
		}
		some = append(some, app.NewSession())
	}
}

// A buffer that grows to what it needs.
func amortised(*testing.T) func() {
	var buffer []byte
	return func() {
		buffer = buffer[:0]
		for range 100 + app.Next()%100 {
			buffer = append(buffer, "0123456789"...)
		}
	}
}

func lazyTable(*testing.T) func() {
	var table []*app.Session
	return func() {
		if table == nil {
			table = make([]*app.Session, 256)
		}
		n := app.Next() % 16
		if table[n] == nil {
			table[n] = app.NewSession()
		}
	}
}
