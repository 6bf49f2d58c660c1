package alloc

import (
	"context"
	"math"
	"reflect"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
)

// ReportRetained adds the metrics retained-B/op and retained-objects/op to a benchmark's results:
// the growth of the heap over the iterations from here on. What the callers refer to now is alive
// until the end, though their frames are gone when the heap is measured.
func ReportRetained(b *testing.B) {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	// b.Loop has b.N be 0 while it runs (go1.26, go1.27: testing/benchmark.go).
	if _, done := loopOf(b); done || b.N == 0 {
		if !b.Failed() {
			b.Errorf("leakcheck: ReportRetained is called after the loop, or in it, and so sees nothing of it: call it right before the loop")
		}
		return
	}
	n, earlier := uint64(b.N), allocsOf(b)
	held, inFrame, err := snapshot.CallerReferences(context.Background(), reportRetained)
	objects, bytes := onHeap()
	from := mallocs()
	b.Cleanup(func() { // the timer is stopped, and b.N is what was run
		since := mallocs() - from
		if b.Failed() || b.N == 0 {
			return
		}
		// A loop over b.N may be over. A loop that does not allocate retains nothing: what it
		// retained would be among the objects that were allocated earlier.
		if by, _ := loopOf(b); by == 0 && since < n && earlier > n/100+fewAllocs {
			b.Logf("leakcheck: ReportRetained could not tell what is retained: %d objects were allocated before it, and only %d after it; call it right before the loop (b.Loop)", earlier, since)
			return
		}
		nowObjects, nowBytes := onHeap()
		runtime.KeepAlive(held)
		retains := 2*(nowObjects-objects) >= int64(b.N)
		switch {
		case retains || since < n/2: // what does not allocate retains nothing
		case err != nil:
			b.Logf("leakcheck: ReportRetained does not count what only variables of the benchmark refer to (%v); "+keepVariables, err)
		case inFrame:
			b.Log("leakcheck: ReportRetained could not tell what variables of the benchmark retain: what only they hold is garbage before the heap is measured; " + keepVariables)
		}
		b.ReportMetric(perIteration(nowBytes-bytes, b.N), "retained-B/op")
		b.ReportMetric(perIteration(nowObjects-objects, b.N), "retained-objects/op")
	})
}

// keepVariables says what keeps a variable alive until the heap is measured, and off the stack.
const keepVariables = "write b.Cleanup(func() { runtime.KeepAlive(v) }) before the loop for each variable v that is to count"

// reportRetained is the name of ReportRetained in this package.
const reportRetained = "github.com/leakgate/leakgate/leakcheck/internal/alloc.ReportRetained"

// fewAllocs is how many objects a benchmark may allocate that has not begun its loop.
const fewAllocs = 16

// loopOf returns how many iterations b.Loop has planned, 0 before it is called, and whether they
// are done (go1.26, go1.27: testing/benchmark.go).
func loopOf(b *testing.B) (planned uint64, done bool) {
	loop := reflect.ValueOf(b).Elem().FieldByName("loop")
	if loop.Kind() != reflect.Struct {
		return 0, false
	}
	n, over := loop.FieldByName("n"), loop.FieldByName("done")
	if !n.IsValid() || !n.CanUint() || over.Kind() != reflect.Bool {
		return 0, false
	}
	return n.Uint(), over.Bool()
}

// allocsOf returns how many objects a benchmark has allocated while its timer ran, up to the last
// stop.
func allocsOf(b *testing.B) uint64 {
	if n := reflect.ValueOf(b).Elem().FieldByName("netAllocs"); n.IsValid() && n.CanUint() {
		return n.Uint()
	}
	return math.MaxUint64
}

// perIteration is at least 0, since older objects may have gone meanwhile.
func perIteration(n int64, iterations int) float64 { return float64(max(n, 0)) / float64(iterations) }

// onHeap returns the objects and bytes on the heap after two garbage collections: a pool, and an
// object with a finalizer, outlive one.
func onHeap() (objects, bytes int64) {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/objects:objects"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()), int64(sample[1].Value.Uint64())
}

// maxReported is how many types a benchmark reports if no types are requested.
const maxReported = 5

// ReportAllocs adds a metric to a benchmark's results for each requested type: how many objects of
// it one call of op allocates. Without requested types it reports those with most objects.
func ReportAllocs(c *assertion.Checker, b *testing.B, at environ.Site, op func(), req *Request) {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	a := c.Begin(b, at, nil)
	x := &experiment{Assertion: a, op: calls.NewOp(op, a.FailsFromNow(), a.Now), req: req}
	if len(req.Problems) > 0 {
		b.Errorf("leakcheck: ReportAllocs:\n    %s", strings.Join(req.Problems, "\n    "))
		return
	}
	x.warmUp()
	r, err := x.record()
	if err == nil && r.unsure() {
		r, err = x.record()
	}
	problems := ""
	switch {
	case err != nil:
	case r.unsure(): // it is unknown whether they are single objects or arrays
		err = r.sizesUnknown()
	default:
		problems, err = x.unknownNames(r)
	}
	switch {
	case err == errOpFailed:
		return
	case err != nil:
		b.Logf("leakcheck: allocations by type are not reported: %v", err)
		return
	case problems != "":
		b.Errorf("leakcheck: ReportAllocs:\n    %s", problems)
		return
	}
	found := r.perCall(req.Bounds)
	b.Cleanup(func() { // b.Loop drops what was reported before
		for unit, n := range found {
			b.ReportMetric(n, unit)
		}
	})
}

// perCall returns how many objects of each type one call allocated, by the metric's unit.
func (r *recording) perCall(of []Bound) map[string]float64 {
	found := make(map[string]float64)
	add := func(name string, objects int64) {
		unit := strings.Join(strings.Fields(name), "") + "-allocs/op" // a unit is a word
		found[unit] = float64(objects) / float64(r.calls)
	}
	for i := range of {
		name := of[i].typeName()
		for k := range of {
			if o := of[i].Selector.Object; k != i && of[k].typeName() == name && o != nil {
				name = naming.TypeName(o)
			}
		}
		add(name, of[i].counts(r.rows).objects)
	}
	if len(of) > 0 {
		return found
	}
	shorts := make(map[string]int)
	for _, row := range r.rows {
		shorts[naming.LastElements(row.name)]++
	}
	for _, row := range r.rows {
		name := naming.LastElements(row.name)
		if shorts[name] > 1 {
			name = row.name // packages with the same name have types with the same name
		}
		if row.typed && len(found) < maxReported {
			add(name, row.objects)
		}
	}
	return found
}

// typeName is the type in a bound's selector, as the name of its objects: "app.Session" of
// Type[*app.Session]().
func (b *Bound) typeName() string {
	name := strings.TrimSuffix(strings.TrimPrefix(b.recorded(), "Type["), "]()")
	name = strings.Trim(strings.TrimSuffix(strings.TrimPrefix(name, "TypeNamed("), ")"), "\"`")
	return strings.TrimPrefix(name, "*")
}
