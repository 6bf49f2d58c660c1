package repeat

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/leakcheck"
)

var benchmarks []testing.InternalBenchmark

// Benchmarks registers benchmarks, as Tests does.
func Benchmarks(bs ...testing.InternalBenchmark) { benchmarks = append(benchmarks, bs...) }

// A loop is the loop of a benchmark, held at the head of its body.
type loop struct {
	pb     *testing.PB   // of the held goroutine of RunParallel; nil in a benchmark's own loop
	ticked chan struct{} // the loop is at its head again
	resume chan bool     // true: do one more iteration; false: end
}

func newLoop(pb *testing.PB) *loop { return &loop{pb, make(chan struct{}), make(chan bool)} }

// held has the loops of the running benchmark. Outside an exploration arrived is nil, and loops run
// freely.
var held struct {
	sync.Mutex
	arrived chan *loop
	loops   map[any]*loop // by *testing.B, or by the call of RunParallel, see parallel
}

// Tick is called at the head of each loop of a benchmark, and holds the loop there. once says that
// the loop has one iteration: package testing tries a benchmark out that way.
func Tick(b *testing.B, once bool) {
	held.Lock()
	arrived := held.arrived
	if arrived == nil || once {
		held.Unlock()
		return
	}
	l := held.loops[b]
	isNew := l == nil
	if isNew {
		l = newLoop(nil)
		held.loops[b] = l
	}
	held.Unlock()
	if isNew {
		arrived <- l
	} else {
		l.ticked <- struct{}{}
	}
	if !<-l.resume {
		b.SkipNow()
	}
}

// TickParallel is Tick for loops in RunParallel. It holds the loop of one goroutine; the other
// goroutines end when they reach their loops.
func TickParallel(pb *testing.PB) {
	of, n := parallel(pb)
	held.Lock()
	arrived := held.arrived
	if arrived == nil || n <= 1 {
		held.Unlock()
		return
	}
	l := held.loops[of]
	switch {
	case l == nil:
		l = newLoop(pb) // keeps pb alive, so that no other PB has its address
		held.loops[of] = l
		held.Unlock()
		arrived <- l
	case l.pb != pb:
		held.Unlock()
		runtime.Goexit()
	default:
		held.Unlock()
		l.ticked <- struct{}{}
	}
	if !<-l.resume {
		runtime.Goexit() // RunParallel waits for its goroutines, however they end
	}
}

// parallel returns an identifier of the RunParallel call that pb belongs to, and its number of
// iterations. It reads unexported fields of PB (go1.26 testing/benchmark.go, PB). If PB has other
// fields, the number is 0.
func parallel(pb *testing.PB) (of uintptr, n uint64) {
	v := reflect.ValueOf(pb).Elem()
	shared, all := v.FieldByName("globalN"), v.FieldByName("bN")
	if !shared.IsValid() || shared.Kind() != reflect.Pointer || !all.IsValid() || !all.CanUint() {
		return 0, 0
	}
	return shared.Pointer(), all.Uint()
}

// Limits for a benchmark: loops that are explored, iterations, and iterations in a batch.
const (
	maxLoops      = 3
	maxIterations = 5000
	maxBatch      = 100
)

// explorations is one benchmark while its loops are explored.
type explorations struct {
	*runner
	orders   *Orders
	name     string
	arrived  chan *loop
	finished chan struct{}
	next     *loop // loop that arrived while another was explored
	watch    *time.Timer
	cut      bool // a loop of RunParallel was ended, for which package testing fails the benchmark
}

// holdAll explores the loops of benchmarks.
func (r *runner) holdAll(o *Orders) {
	if len(o.Benchmarks) == 0 {
		return
	}
	if err := flag.Set("test.benchtime", fmt.Sprintf("%dx", maxIterations)); err != nil {
		panic(err)
	}
	for _, name := range o.Benchmarks {
		status := Unrunnable
		for _, b := range benchmarks {
			switch {
			case b.Name != name:
			case time.Now().After(o.ProbeEnd):
				status = OutOfTime
			default:
				status = r.hold(o, b)
			}
		}
		r.journal.write(Event{Event: "tried", Function: name, Status: status, Mark: r.calls})
	}
}

func (r *runner) hold(o *Orders, f testing.InternalBenchmark) Status {
	r.mark(f.Name)
	x := &explorations{runner: r, orders: o, name: f.Name, arrived: make(chan *loop), finished: make(chan struct{})}
	held.Lock()
	held.arrived, held.loops = x.arrived, make(map[any]*loop)
	held.Unlock()
	x.watch = r.watch(func() string { return f.Name }, o.Hangs)
	defer x.watch.Stop()
	failed := false
	go func() {
		defer close(x.finished)
		testing.Benchmark(func(b *testing.B) {
			defer func() { failed = failed || b.Failed() }()
			f.F(b)
		})
	}()
	explored, whole := 0, 0
	for l := x.wait(); l != nil; l = x.wait() {
		if explored == maxLoops || time.Now().After(o.ProbeEnd) {
			x.end(l)
			continue
		}
		explored++
		if x.explore(l, fmt.Sprintf("%s#%d", f.Name, explored)) {
			whole++
		}
	}
	held.Lock()
	held.arrived, held.loops = nil, nil
	held.Unlock()
	switch {
	case r.restore() != nil || failed && !x.cut:
		return Fails
	case explored == 0:
		return NoLoop
	case whole == 0:
		return Short
	}
	return OK
}

// wait returns the next loop that arrives, nil when the benchmark has ended.
func (x *explorations) wait() *loop {
	if l := x.next; l != nil {
		x.next = nil
		return l
	}
	x.watch.Reset(x.orders.Hangs)
	select {
	case l := <-x.arrived:
		return l
	case <-x.finished:
		return nil
	}
}

// explore runs a loop one iteration at a time, under AssertNoGrowth. It reports whether the
// exploration ended before the loop did.
func (x *explorations) explore(l *loop, label string) (whole bool) {
	ended, iterations := false, 0
	step := func() {
		if ended {
			return
		}
		iterations++
		x.watch.Reset(x.orders.Hangs)
		l.resume <- true
		select {
		case <-l.ticked:
		case x.next = <-x.arrived:
			ended = true
		case <-x.finished:
			ended = true
		}
		x.watch.Reset(time.Until(x.orders.End) + x.orders.Hangs)
	}
	step()
	start := time.Now()
	step()
	batch, warmup := batches(time.Since(start))
	x.journal.write(Event{Event: "hold", Function: x.name, Label: label})
	s := &subject{name: label, end: x.orders.End}
	if err := os.Setenv(envvar.Artifacts.Name(), x.orders.Artifacts); err != nil {
		panic(err)
	}
	handedOut, before := lifetimes(), iterations
	leakcheck.AssertNoGrowth(s, step, leakcheck.Iterations(min(batch, maxBatch)), leakcheck.Warmup(warmup))
	if err := os.Unsetenv(envvar.Artifacts.Name()); err != nil {
		panic(err)
	}
	done := Event{Event: "held", Function: x.name, Label: label, Calls: iterations, Log: s.log, Lifetimes: lifetimesSince(handedOut, iterations-before)}
	if ended {
		done.Status = Once // the loop ended before the exploration did
	}
	x.journal.write(done)
	if !ended {
		x.end(l)
	}
	return !ended
}

// end ends a loop.
func (x *explorations) end(l *loop) {
	x.cut = x.cut || l.pb != nil
	l.resume <- false
}
