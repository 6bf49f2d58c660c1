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

// A loop is the loop of a benchmark that is held at the head of its body.
type loop struct {
	pb     *testing.PB   // of the goroutine that is held; nil in a benchmark's own loop
	ticked chan struct{} // it has come to its head again
	resume chan bool     // to do one more iteration; false: to end
}

func newLoop(pb *testing.PB) *loop { return &loop{pb, make(chan struct{}), make(chan bool)} }

// held are the loops of the benchmark that runs. Outside of an exploration arrived is nil, and
// loops run freely.
var held struct {
	sync.Mutex
	arrived chan *loop
	loops   map[any]*loop // by *testing.B, or by what tells calls of RunParallel apart
}

// Tick is called at the head of each loop of a benchmark, which it holds there. once says that the
// loop has one iteration, by which package testing tries a benchmark out.
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

// TickParallel is Tick for the loops of a benchmark's RunParallel. One goroutine's loop is held;
// the others end when they come to theirs.
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
		l = newLoop(pb) // which keeps pb, so that its address names no other
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

// parallel tells the call of RunParallel that a PB is for, and its number of iterations, by fields
// that package testing has for them (go1.26 testing/benchmark.go, PB). The number is 0 where it has
// others.
func parallel(pb *testing.PB) (of uintptr, n uint64) {
	v := reflect.ValueOf(pb).Elem()
	shared, all := v.FieldByName("globalN"), v.FieldByName("bN")
	if !shared.IsValid() || shared.Kind() != reflect.Pointer || !all.IsValid() || !all.CanUint() {
		return 0, 0
	}
	return shared.Pointer(), all.Uint()
}

// Of a benchmark, so many loops are explored, for so many iterations at most.
const (
	maxLoops      = 3
	maxIterations = 5000
	maxBatch      = 100
)

// explorations is one benchmark on its way.
type explorations struct {
	*runner
	orders   *Orders
	name     string
	arrived  chan *loop
	finished chan struct{}
	next     *loop // that arrived while another was explored
	watch    *time.Timer
	cut      bool // the loop of a RunParallel was ended, for which package testing fails it
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

// explore has a loop do one iteration after the other, under AssertNoGrowth, and reports whether it
// did not end before.
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
	leakcheck.AssertNoGrowth(s, step, leakcheck.Iterations(min(batch, maxBatch)), leakcheck.Warmup(warmup))
	if err := os.Unsetenv(envvar.Artifacts.Name()); err != nil {
		panic(err)
	}
	done := Event{Event: "held", Function: x.name, Label: label, Calls: iterations, Log: s.log}
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
