package finding

import (
	"iter"
	"slices"

	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A History is the snapshots of an experiment, in their order. It gives the series of figures over
// them. It is a value: what would change it returns another one. Inlined, the functions that do so
// would be several KB of code.
type History struct {
	Env       *environ.Environment
	Snapshots []*Snapshot
	Further   []*Snapshot // after further batches, see series.FurtherBatches
	Dropped   int         // snapshots before the first, each after a batch
	Later     *Snapshot   // after a wait without calls, and one more batch; nil: there was none
}

func (h *History) First() *Snapshot { return h.Snapshots[0] }

func (h *History) Last() *Snapshot { return h.Snapshots[len(h.Snapshots)-1] }

// All visits the snapshots that series are made of.
func (h *History) All() iter.Seq[*Snapshot] {
	return func(yield func(*Snapshot) bool) {
		for _, m := range append(slices.Concat(h.Snapshots, h.Further), h.Later) {
			if m != nil && !yield(m) {
				return
			}
		}
	}
}

// With is the history with one more snapshot.
//
//go:noinline
func (h *History) With(m *Snapshot) *History {
	n := *h
	n.Snapshots = append(slices.Clip(h.Snapshots), m)
	return &n
}

// WithoutLast is the history without its last snapshot.
//
//go:noinline
func (h *History) WithoutLast() *History {
	n := *h
	n.Snapshots = h.Snapshots[:len(h.Snapshots)-1]
	return &n
}

// WithFurther is the history with one more snapshot after a further batch.
//
//go:noinline
func (h *History) WithFurther(m *Snapshot) *History {
	n := *h
	n.Further = append(slices.Clip(h.Further), m)
	return &n
}

// WithLater is the history with the snapshot after a wait without calls, and one more batch.
//
//go:noinline
func (h *History) WithLater(m *Snapshot) *History {
	n := *h
	n.Later = m
	return &n
}

// Since is the history without the snapshots before index first, and without those after further
// batches and waits.
//
//go:noinline
func (h *History) Since(first int) *History {
	return &History{Env: h.Env, Snapshots: h.Snapshots[first:], Dropped: h.Dropped + first}
}

// Doubt returns why a snapshot is not good enough to judge by, nil if all are.
func (h *History) Doubt() error {
	for _, m := range h.Snapshots {
		if m.Doubt != nil {
			return m.Doubt
		}
	}
	return nil
}

// Uncounted reports whether there is a snapshot at which goroutines could not be counted.
func (h *History) Uncounted() bool {
	return slices.ContainsFunc(h.Snapshots, func(m *Snapshot) bool { return m.Goroutines == nil })
}

// Lost returns why resources could not be read at a snapshot that could at the first one; "" if
// there are none. Those that cannot be read at the first one are nothing that calls are judged by.
func (h *History) Lost() string {
	if h.First().Ledger == nil {
		return ""
	}
	known := func(kind ledger.Kind) bool {
		return !slices.ContainsFunc(h.First().Ledger.Missing, func(u ledger.Unread) bool { return u.Kind == kind })
	}
	for _, m := range h.Snapshots[1:] {
		if m.Ledger == nil {
			continue
		}
		for _, u := range m.Ledger.Missing {
			if known(u.Kind) {
				return u.Error()
			}
		}
	}
	return ""
}

// Series returns the series of a figure over the snapshots.
func (h *History) Series(value func(m *Snapshot) int64) series.Series {
	s := series.Series{Calls: make([]int64, len(h.Snapshots)), Values: make([]int64, len(h.Snapshots))}
	for i, m := range h.Snapshots {
		s.Calls[i], s.Values[i] = m.Calls, value(m)
	}
	for _, m := range h.Further {
		s.MoreCalls, s.More = append(s.MoreCalls, m.Calls), append(s.More, value(m))
	}
	if h.Later != nil {
		s.LaterCalls, s.Later = h.Later.Calls, value(h.Later)
	}
	return s
}

// Measured returns one figure of a branch at each snapshot.
func (h *History) Measured(b *tree.Branch, by Measure) series.Series {
	key := b.GrowthKey()
	return h.Series(func(m *Snapshot) int64 { return m.Figures()[key][by] })
}

// GoroutinesOf returns how many goroutines of an origin there were at each snapshot.
func (h *History) GoroutinesOf(origin goroutine.Origin) series.Series {
	return h.Series(func(m *Snapshot) int64 { return m.Goroutines[origin].Count })
}

// FramesOf returns how many frames the stacks of the goroutines of an origin had together at each
// snapshot.
func (h *History) FramesOf(origin goroutine.Origin) series.Series {
	return h.Series(func(m *Snapshot) int64 { return m.Goroutines[origin].Frames })
}

// TimersOf returns how many timers of a root were pending at each snapshot.
func (h *History) TimersOf(root *tree.Branch) series.Series {
	return h.Series(func(m *Snapshot) (timers int64) {
		for _, b := range m.Forest {
			if b.Root.Kind == refscan.RootTimer && b.Name == root.Name {
				timers += b.Root.Timers
			}
		}
		return timers
	})
}

// CountsByType reports whether the objects of a branch count with their type. Objects that are kept
// on purpose do not.
func (h *History) CountsByType(b *tree.Branch) bool {
	return b.Objects > 0 && b.Bytes > 0 && h.Env.MentionsProgram(b.Typ) && !b.BelongsToGoroutine() && !b.IsMissed() &&
		tree.RetainerOf(h.Env, b) == nil && tree.TestingRecordOf(h.Env, b) == nil
}

// OfType returns how many objects of a type there were at each snapshot.
func (h *History) OfType(typ string) series.Series {
	return h.Series(func(m *Snapshot) int64 {
		if m.types == nil {
			m.types = make(map[string]int64)
			m.Forest.All(func(b *tree.Branch) bool {
				if h.CountsByType(b) {
					m.types[b.Typ] += b.Objects
				}
				return true
			})
		}
		return m.types[typ]
	})
}
