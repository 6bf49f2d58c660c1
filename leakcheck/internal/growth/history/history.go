// Package history holds the snapshots of an experiment, and gives the series of figures over them.
package history

import (
	"iter"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A History is the snapshots of an experiment, in their order.
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

// BeginAt drops the snapshots before index first, and those after further batches and waits.
func (h *History) BeginAt(first int) {
	h.Snapshots, h.Further, h.Later = h.Snapshots[first:], nil, nil
	h.Dropped += first
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
	known := func(kind string) bool {
		return !slices.ContainsFunc(h.First().Ledger.Missing, func(why string) bool { return strings.HasPrefix(why, kind) })
	}
	for _, m := range h.Snapshots[1:] {
		if m.Ledger == nil {
			continue
		}
		for _, why := range m.Ledger.Missing {
			if kind, _, _ := strings.Cut(why, ":"); known(kind) {
				return why
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
func (h *History) GoroutinesOf(origin pile.Origin) series.Series {
	return h.Series(func(m *Snapshot) int64 { return m.Goroutines[origin].Count })
}

// FramesOf returns how many frames the stacks of the goroutines of an origin had together at each
// snapshot.
func (h *History) FramesOf(origin pile.Origin) series.Series {
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
