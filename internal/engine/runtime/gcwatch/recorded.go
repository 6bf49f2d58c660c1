package gcwatch

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// Records finds the memory profiler's records in a process. They tell what was alive at the end of
// the last mark phase and of the one before, however much of that has been freed since. The
// profiler counts allocations and frees by mark phase, and publishes them two phases later (go1.26
// and go1.27 runtime/mprof.go, mProf_Malloc, mProf_Free, mProf_NextCycle).
type Records struct {
	bucket rtlayout.Bucket
	at     rtlayout.Record
}

// FindRecords finds the records by debug information.
func FindRecords(l *rtlayout.Lookup) (*Records, error) {
	r := &Records{}
	l.Fill(&r.bucket, &r.at)
	return r, l.Err()
}

// A Recorded is what one stack has allocated, in bytes, as far as the profiler's samples tell.
// Before was alive at the end of the mark phase before the last one, Alive at the end of the last
// one.
type Recorded struct {
	Stack         []uint64 // return addresses, the innermost first
	Before, Alive int64
}

// maxRecords bounds how many records are read: more are damaged.
const maxRecords = 1 << 20

var errOff = errors.New("the memory profiler is off")

var errDamaged = errors.New("the memory profiler's records cannot be read: they change or are damaged")

// Read returns the records of which anything was alive at one of the two moments. Where the last
// collection was one by runtime.GC, which publishes its phase at once, Before is the same as Alive.
// Garbage that is not swept yet counts as alive: see Swept. Read makes some twelve reads a record.
func (r *Records) Read(m Memory) (all []Recorded, err error) {
	w := words{m: m}
	cycle := w.word(r.at.Cycle, 4) // and in the lowest bit whether it is published
	rate := int64(w.word(r.at.Rate, 8))
	if rate <= 0 && w.err == nil {
		return nil, errOff
	}
	r.each(&w, func(b bucket) {
		objects := func(at uint64) int64 { return int64(w.word(at+r.at.Allocated, 8) - w.word(at+r.at.Freed, 8)) }
		in := func(phase uint64) int64 { return objects(b.record + r.at.Future + phase%phases*r.at.Phase) }
		before, added := objects(b.record), in(cycle>>1+1)
		if cycle&1 == 0 {
			before += in(cycle >> 1)
		}
		if before > 0 || added > 0 {
			stack, size := r.stack(&w, b)
			all = append(all, Recorded{stack, scaled(before*size, size, rate), scaled((before+added)*size, size, rate)})
		}
	})
	if w.err == nil && w.word(r.at.Cycle, 4)>>1 != cycle>>1 {
		w.err = errDamaged
	}
	return all, w.err
}

// A bucket is where the records of a stack and a size lie.
type bucket struct{ at, depth, record uint64 }

// each calls f for all buckets, those that were made last first. What is damaged is an error of w.
func (r *Records) each(w *words, f func(b bucket)) {
	n := 0
	for at := w.word(r.at.First, 8); at != 0 && w.err == nil; at = w.word(at+r.bucket.Next, 8) {
		b := bucket{at: at, depth: w.word(at+r.bucket.Depth, 8)}
		if n++; n > maxRecords || b.depth > maxDepth {
			w.err = errDamaged
			return
		}
		b.record = at + r.bucket.Size + 8*b.depth
		f(b)
	}
}

// stack reads a bucket's stack, and the size of its objects.
func (r *Records) stack(w *words, b bucket) (stack []uint64, size int64) {
	stack = make([]uint64, b.depth)
	for i := range stack {
		stack[i] = w.word(b.at+r.bucket.Size+8*uint64(i), 8)
	}
	return stack, int64(w.word(b.at+r.bucket.Object, 8))
}

// maxSweep bounds the wait for garbage of a mark phase to be freed, until which it counts as alive.
const maxSweep = 100 * time.Millisecond

// Around returns the records of the moments around a jump. The mark phase that found it has just
// ended; its collection has this number: Alive is at its end. If the jump is sudden, Before is at
// the end of the mark phase before; otherwise, and where that is not known, it is that of earlier,
// the records of a moment before the jump. Around returns nil if two more mark phases have ended,
// or if the records cannot be read.
func (r *Records) Around(m Memory, counters *Counters, number uint32, sudden bool, earlier []Recorded) []Recorded {
	for end := time.Now().Add(maxSweep); !r.Swept(m) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	all, err := r.Read(m)
	last, failed := counters.Last(m)
	if err != nil || failed != nil || last.Number-number > 1 {
		return nil
	}
	return bracket(all, sudden, last.Number != number, earlier)
}

// bracket returns records of the two moments. If one more mark phase has ended meanwhile, the end
// of the one before it is the later moment; if a call of runtime.GC has published both together, it
// is not known what was alive before.
func bracket(now []Recorded, sudden, oneMore bool, earlier []Recorded) []Recorded {
	published := !slices.ContainsFunc(now, func(r Recorded) bool { return r.Before != r.Alive })
	if sudden && !oneMore && !published {
		return now
	}
	was := make(map[string]int64)
	key := func(r *Recorded) string { return fmt.Sprint(r.Stack) }
	for i := range earlier {
		was[key(&earlier[i])] += earlier[i].Alive
	}
	all := slices.Clone(now)
	for i := range all {
		r := &all[i]
		if oneMore {
			r.Alive = r.Before
		}
		k := key(r)
		r.Before = min(was[k], r.Alive) // a stack has a record for each size
		was[k] -= r.Before
	}
	return all
}

const (
	phases   = 3 // of which the profiler has counts that are not published
	maxDepth = 1024
)

// scaled returns how many bytes of objects of a size stand behind those of samples: an object is
// sampled with probability 1-exp(-size/rate) (go1.26 runtime/pprof/protomem.go, scaleHeapSample).
func scaled(bytes, size, rate int64) int64 {
	if rate <= 1 || size <= 0 {
		return bytes
	}
	return int64(float64(bytes) / (1 - math.Exp(-float64(size)/float64(rate))))
}

// Swept reports whether all garbage that the last mark phase found has been freed.
func (r *Records) Swept(m Memory) bool {
	const drained = 1 << 31 // go1.26 runtime/mgcsweep.go, sweepDrainedMask
	state, err := m.Word(r.at.Sweep, 4)
	return err == nil && state&drained != 0
}
