package alloc

import (
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
)

// ReportRetained adds the metrics retained-B/op and retained-objects/op to a benchmark's results:
// what its iterations from here on leave on the heap.
func ReportRetained(b *testing.B) {
	b.Helper()
	b.StopTimer()
	objects, bytes := onHeap()
	b.Cleanup(func() { // the timer is stopped, and b.N is what was run
		if b.Failed() || b.N == 0 {
			return
		}
		nowObjects, nowBytes := onHeap()
		b.ReportMetric(perIteration(nowBytes-bytes, b.N), "retained-B/op")
		b.ReportMetric(perIteration(nowObjects-objects, b.N), "retained-objects/op")
	})
	b.StartTimer()
}

// perIteration is at least 0: what was left from before may have gone meanwhile.
func perIteration(n int64, iterations int) float64 { return float64(max(n, 0)) / float64(iterations) }

// onHeap returns what is on the heap after garbage collections: two, since a pool, and an object
// with a finalizer, outlive one.
func onHeap() (objects, bytes int64) {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/objects:objects"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()), int64(sample[1].Value.Uint64())
}

// maxReported is how many types a benchmark reports where none are asked for.
const maxReported = 5

// ReportAllocs adds a metric to a benchmark's results for each type that is asked for: how many objects
// of it one call of op allocates. Without any, it is those of which there are most.
func ReportAllocs(c *assertion.Checker, b *testing.B, at environ.Site, op func(), req *Request) {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	x := &experiment{Assertion: c.Begin(b, at, nil), op: op, req: req}
	if len(req.Problems) > 0 {
		b.Errorf("leakcheck: ReportAllocs:\n    %s", strings.Join(req.Problems, "\n    "))
		return
	}
	x.failed = x.FailsFromNow()
	x.warmUp()
	r, err := x.record()
	if err == nil && r.unsure() {
		r, err = x.record()
	}
	problems := ""
	switch {
	case err != nil:
	case r.unsure(): // whether they are objects of a type or arrays
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

// perCall returns how many objects one call allocated of each type, by the metric's unit.
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
		shorts[naming.ShortName(row.name)]++
	}
	for _, row := range r.rows {
		name := naming.ShortName(row.name)
		if shorts[name] > 1 {
			name = row.name // packages of one name have a type of one name
		}
		if row.typed && len(found) < maxReported {
			add(name, row.objects)
		}
	}
	return found
}

// typeName is the type that a bound's selector is written with, as objects of it are called:
// "app.Session" of Type[*app.Session]().
func (b *Bound) typeName() string {
	name := strings.TrimSuffix(strings.TrimPrefix(b.shown(), "Type["), "]()")
	name = strings.Trim(strings.TrimSuffix(strings.TrimPrefix(name, "TypeNamed("), ")"), "\"`")
	return strings.TrimPrefix(name, "*")
}
