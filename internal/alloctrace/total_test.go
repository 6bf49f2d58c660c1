package alloctrace

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/trace"
	"testing"
	"time"
)

type totalNode struct{ _ *totalNode }

type totalPair [2]int64

var totalSink struct {
	node  *totalNode
	nodes []totalNode
	pair  *totalPair
	text  []byte
}

// traced returns the trace of what f allocates.
func traced(t *testing.T, f func()) []byte {
	t.Helper()
	before, set := os.LookupEnv("GODEBUG")
	t.Setenv("GODEBUG", "traceallocfree=1")
	var out bytes.Buffer
	out.Grow(16 << 20)
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	if set {
		_ = os.Setenv("GODEBUG", before)
	}
	withRoom(f)
	trace.Stop()
	return out.Bytes()
}

// withRoom calls f on a stack that need not grow or shrink: if a stack grows while a trace's buffer
// is full, the runtime crashes (see leakcheck/internal/alloc/stack.go).
//
//go:noinline
func withRoom(f func()) {
	var room [20 << 10]byte
	f()
	runtime.KeepAlive(&room)
}

func classes() []int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs-by-size:bytes"}}
	metrics.Read(sample)
	buckets := sample[0].Value.Float64Histogram().Buckets
	list := make([]int64, len(buckets)-1)
	for i := range list {
		list[i] = int64(buckets[i]) - 1
	}
	return list
}

// TestTotals counts the allocations of a function that collects garbage now and then, so that pages
// of the heap change their use.
func TestTotals(t *testing.T) {
	data := traced(t, func() {
		for i := range 3000 {
			totalSink.node = new(totalNode)
			totalSink.nodes = make([]totalNode, 4)
			totalSink.pair = new(totalPair)
			totalSink.text = append([]byte(nil), make([]byte, 700)...)
			if i%1000 == 0 {
				runtime.GC()
			}
		}
	})
	totals, err := ReadTotals(bytes.NewReader(data), classes(), 0)
	if err != nil {
		t.Fatal(err)
	}
	objects, bytes := make(map[string]int64), make(map[string]int64)
	var sum int64
	for _, n := range totals.Counts {
		name := n.Name
		if n.Size > n.TypeSize && n.Name == "alloctrace.totalNode" {
			name = "[]" + name
		}
		objects[name] += n.Objects
		bytes[name] += n.Bytes()
		sum += n.Objects
	}
	for _, want := range []struct {
		name string
		size int64
	}{{"alloctrace.totalNode", 8}, {"[]alloctrace.totalNode", 32}, {"alloctrace.totalPair", 16}} {
		// If threads write events by turns, the order of events does not determine the size of all
		// objects; such objects are counted.
		wrong := bytes[want.name] != 3000*want.size && totals.UnsizedObjects == 0
		if objects[want.name] != 3000 || wrong {
			t.Errorf("%s: %d objects, %d bytes", want.name, objects[want.name], bytes[want.name])
		}
	}
	if objects[""] < 3000 || bytes[""] < 3000*704 && totals.UnsizedObjects == 0 {
		t.Errorf("memory without a type: %d objects, %d bytes", objects[""], bytes[""])
	}
	if sum != totals.Objects {
		t.Errorf("%d objects, %d in all", sum, totals.Objects)
	}
}

// A goroutine that is left out does not count, in a trace of several generations; those that it
// started do.
func TestTotalsWithoutAGoroutine(t *testing.T) {
	var own uint64
	if _, err := fmt.Sscanf(string(debug.Stack()), "goroutine %d ", &own); err != nil {
		t.Fatal(err)
	}
	const calls = 300
	data := traced(t, func() {
		for i := range calls {
			totalSink.node = new(totalNode)
			done := make(chan bool)
			go func() {
				totalSink.pair = new(totalPair)
				close(done)
			}()
			<-done
			if i%100 == 0 {
				runtime.GC()
				time.Sleep(time.Second) // a generation
			}
		}
	})
	for without, want := range map[uint64]int64{0: calls, own: 0} {
		totals, err := ReadTotals(bytes.NewReader(data), classes(), without)
		if err != nil {
			t.Fatal(err)
		}
		objects := make(map[string]int64)
		for _, n := range totals.Counts {
			objects[n.Name] += n.Objects
		}
		if nodes, pairs := objects["alloctrace.totalNode"], objects["alloctrace.totalPair"]; nodes != want || pairs != calls {
			t.Errorf("without goroutine %d: %d of its objects, %d of others; there should be %d and %d", without, nodes, pairs, want, calls)
		}
	}
}

// TestTotalsDamaged reads truncated traces, and traces with a changed byte: there may be an error,
// but never a panic.
func TestTotalsDamaged(t *testing.T) {
	data := traced(t, func() { totalSink.node = new(totalNode) })
	sizes := classes()
	for _, end := range []int{0, 5, 16, 17, 20, 30, len(data) / 2} {
		if totals, err := ReadTotals(bytes.NewReader(data[:end]), sizes, 0); err == nil {
			t.Errorf("of %d bytes: %d objects", end, totals.Objects)
		}
	}
	for at := 16; at < len(data); at += 1 + len(data)/300 {
		damaged := bytes.Clone(data)
		damaged[at] ^= 0xff
		_, _ = ReadTotals(bytes.NewReader(damaged), sizes, 0)
	}
	data = data[:16]
	if _, err := ReadTotals(bytes.NewReader(data), sizes, 0); err != ErrNoEvents {
		t.Errorf("a trace without events: %v", err)
	}
}

// A trace that is cut after a part is not whole, either.
func TestTotalsCutBetweenParts(t *testing.T) {
	data := traced(t, func() { totalSink.node = new(totalNode) })
	if _, err := ReadTotals(bytes.NewReader(data), classes(), 0); err != nil {
		t.Fatal(err)
	}
	for end := headerSize + 1; end < min(len(data), 10_000); end++ {
		if _, _, err := split(data[:end]); err == nil && data[end-1] != evEndOfGeneration {
			t.Errorf("the first %d bytes of %d are taken for a trace", end, len(data))
		}
	}
}
