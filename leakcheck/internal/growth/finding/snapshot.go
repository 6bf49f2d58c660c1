package finding

import (
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A Snapshot holds the figures of one snapshot, after Calls calls of op.
type Snapshot struct {
	Calls      int64
	Eval       *check.Evaluation
	Forest     tree.Forest
	Goroutines map[goroutine.Origin]goroutine.Pile
	Ledger     *ledger.Ledger // nil: not available
	Native     *native.Heap   // C code's memory, which Ledger includes; nil: unknown
	Mapped     int64          // anonymous memory that calls have mapped, in bytes
	Doubt      error          // why the snapshot is not good enough for a pass, if it is not
	// Settled: the snapshot was taken once more after a wait for things that had yet to end. They
	// ended in that wait, so a fall to this snapshot hides nothing.
	Settled bool

	counted map[tree.GrowthKey]figures // cached result of Figures
	types   map[string]int64           // objects of the program's types; nil until they are counted
}

// A Measure is one of the figures that a branch may grow in.
type Measure int

const (
	InObjects Measure = iota
	InEntries         // of maps
	InBytes
	InUse    // bytes without those behind the lengths of slices and strings
	measures // how many there are
)

func (m Measure) String() string {
	return [measures]string{"objects", "entries", "bytes", "bytes in use"}[m]
}

// figures are the own figures of a branch, by measure.
type figures [measures]int64

// Figures returns the figures of each path and type. It adds them up once, since the forest does
// not change.
func (m *Snapshot) Figures() map[tree.GrowthKey]figures {
	if m.counted != nil {
		return m.counted
	}
	found := make(map[tree.GrowthKey]figures)
	m.Forest.All(func(b *tree.Branch) bool {
		f := found[b.GrowthKey()]
		f[InObjects] += b.Objects
		f[InEntries] += b.Elems
		f[InBytes] += b.Bytes
		f[InUse] += b.Bytes - b.RoomBytes
		found[b.GrowthKey()] = f
		return true
	})
	m.counted = found
	return found
}

// HasRoom reports whether slices or strings of a path and type have room in their blocks.
func (m *Snapshot) HasRoom(k tree.GrowthKey) bool {
	f := m.Figures()[k]
	return f[InUse] < f[InBytes]
}

// IsAsGoodAs reports whether a snapshot has all the information that another one has, and no doubt.
func (m *Snapshot) IsAsGoodAs(o *Snapshot) bool {
	return m.Doubt == nil && (m.Goroutines != nil || o.Goroutines == nil) && (m.Ledger != nil || o.Ledger == nil) && (m.Native != nil || o.Native == nil)
}
