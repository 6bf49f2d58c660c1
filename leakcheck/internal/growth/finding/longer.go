package finding

import (
	"slices"
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A Longer is a path whose slices got longer with each batch, or whose channels got more elements,
// and have, or had, spare capacity for that.
type Longer struct {
	Path  string
	Used  series.Series // bytes within the slices' lengths, or of elements in the channels' buffers
	Bytes int64         // of the arrays, or of the channels
	Exact bool          // each call has added the same number of bytes
	Queue bool          // of channels
}

// Fill returns how many calls fill the remaining capacity and add one element more.
func (l *Longer) Fill() int {
	calls := float64(l.Bytes-l.InUse()) / l.Used.PerCall()
	if !l.Exact {
		calls *= 1.25 // they may add less than the calls before
	}
	return int(calls) + 1
}

// FillAll returns how many calls would fill the arrays from their start.
func (l *Longer) FillAll() int { return int(float64(l.Bytes)/l.Used.PerCall()) + 1 }

// InUse is how many bytes lie within the slices' lengths.
func (l *Longer) InUse() int64 { return l.Used.Values[len(l.Used.Values)-1] }

// HasRoomFor reports whether all batches that may follow so many calls leave some of the capacity.
func (l *Longer) HasRoomFor(calls int64) bool {
	return hasRoom(l.Bytes-l.InUse(), &l.Used, calls)
}

// hasRoom reports whether all batches that may follow so many calls leave some of the spare
// capacity, in bytes.
func hasRoom(spare int64, used *series.Series, calls int64) bool {
	return float64(spare) >= batchesLeft*used.PerCall()*float64(calls)
}

// Longer returns the paths whose slices got longer in every batch, in proportion to its calls or
// faster. It leaves out memory that is kept on purpose, and paths whose objects grow, there or
// below.
func (f *Finder) Longer() (found []*Longer) {
	if len(f.Snapshots) < 2 {
		return nil
	}
	seen := make(map[tree.GrowthKey]bool)
	f.Last().Forest.All(func(b *tree.Branch) bool {
		key := b.GrowthKey()
		if b.Name == timerChannel { // it has room for one time
			return true
		}
		if seen[key] || !slices.ContainsFunc(f.Snapshots, func(m *Snapshot) bool { return m.HasRoom(key) }) {
			return true
		}
		seen[key] = true
		l := &Longer{Path: b.Path, Used: f.Measured(b, InUse), Bytes: f.Last().Figures()[key][InBytes]}
		if (isQueue(b) || isText(b)) && f.isJudged(b, l.Used) {
			return true // a leak
		}
		if l.Used.CountsKeepPace() && tree.RetainerOf(f.Env, b) == nil && tree.TestingRecordOf(f.Env, b) == nil && !f.objectsGrow(b) {
			l.Exact, l.Queue = l.Used.IsExact(), isQueue(b)
			found = append(found, l)
		}
		return true
	})
	return found
}

// timerChannel is the name of the channel that a timer sends to (heap/typedheap).
const timerChannel = "$chan"

// objectsGrow reports whether the objects of a branch, or of one below it, grow in every batch.
func (f *Finder) objectsGrow(b *tree.Branch) bool {
	own := f.Measured(b, InObjects)
	return own.CountsKeepPace() || slices.ContainsFunc(b.Children, f.objectsGrow)
}

// isQueue reports whether a branch stands for channels, if it has room: apart from them, only the
// arrays of slices, and strings, have some.
func isQueue(b *tree.Branch) bool { return !isText(b) && !strings.HasPrefix(b.Typ, "[]") }

func isText(b *tree.Branch) bool { return b.Typ == "string" }

// IsQueue reports whether the leak is in the buffer of a channel.
func (l *Leak) IsQueue() bool { return l.Measure == InUse && isQueue(l.Heads[0]) }

// batchesLeft is how many times as many calls as so far may follow in all batches together.
const batchesLeft = 5

// isJudged reports whether what is in use of channels' buffers, or of strings, is a leak: each call
// adds the same number of elements, and nobody receives any. A queue that is received from goes up
// and down; a string has no capacity that may be emptied. If the buffers have little room, it
// returns false, also to end the experiment: op would wait for somebody to receive, and never
// return.
func (f *Finder) isJudged(b *tree.Branch, used series.Series) bool {
	return used.IsExact() && used.CountsKeepPace() && (isText(b) || hasRoom(b.RoomBytes, &used, f.Last().Calls))
}
