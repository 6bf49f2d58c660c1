// Package spike watches the live heap of a program while it runs. When a garbage collection finds
// much more alive than is usual, it takes a snapshot at once, which shows what holds the memory:
//
//	watcher, err := spike.Start(spike.Config{Share: 0.5, OnSpike: func(s *spike.Spike) {
//		if _, err := s.WriteFolder("/var/tmp"); err != nil {
//			log.Print(err)
//		}
//		log.Print(s)
//	}})
//
// That catches memory that is freed again before anybody takes a heap profile. The stacks that
// allocated it are read from the memory profiler's records of that very collection, so they are
// known even if the memory is gone when the snapshot is taken.
//
// The live heap is read at the end of a mark phase of the garbage collector, in which the runtime
// itself has counted it: that costs some microseconds each, and nothing in between but a timer each
// second. If mark phases follow each other faster than the watcher's goroutine runs, it reads only
// the last of them; Spike.Missed counts the others. Objects that were allocated during marking
// count as alive to the runtime, garbage or not; they are subtracted. Where their size is not
// known, a jump is reported only if a snapshot shows it, too. Usual is the median of the last nine
// mark phases that were read. A jump that stays is usual before long, and is reported once.
//
// A snapshot costs what a request to package refscanhttp does: one garbage collection; a fork, for
// which the program is stopped for some milliseconds (10 to 15 for 300 MB, 30 to 40 more for each
// GB); and a scan beside the program, about the CPU time of ten garbage collections, and as much
// memory as the heap. One snapshot is taken at each spike, within the limits of Config. For
// comparison, one is taken when it is known what is usual, and then once an hour. Where a limit
// leaves no memory for it, no snapshot is taken: Spike.Err says so. The memory profiler's records
// of a usual moment are kept, at most a minute old if there are garbage collections; reading them
// takes some milliseconds.
//
// Names and types come from the program's debug information, which go build writes unless it is
// told not to (-ldflags=-w). Without it, and where the system allows no snapshot, Spike.Err says
// so, and Spike has the heap profiles all the same.
package spike

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/spikerule"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// Config says what counts as a spike, and how spikes are handled.
type Config struct {
	// Share and Bytes are how much more than usual has to be alive: 0.2 is 20 % more. At least one
	// has to be given; if both are, both have to be exceeded. Less than 1 MiB more is never a
	// spike.
	Share float64
	Bytes int64

	// OnSpike is called with each spike, in the watcher's goroutine. Until it returns, nothing is
	// watched, so that there is one call at a time. A panic ends the program, as in any goroutine.
	OnSpike func(*Spike)

	// Interval is the least time between two spikes that are reported, one minute if it is 0.
	// PerDay is how many are reported at most in any 24 hours, 24 if it is 0. Spike.LeftOut counts
	// the others.
	Interval time.Duration
	PerDay   int

	// Base is the greatest age of the snapshot that spikes are compared with, one hour if it is 0.
	// It is renewed while no more is alive than usual. If Base is negative, no such snapshot is
	// taken: reports say what holds all that is alive, but not which part of it is more than usual.
	Base time.Duration
}

// A Spike is a garbage collection that found much more alive than is usual.
type Spike struct {
	At    time.Time
	Cycle uint64 // the number of the garbage collection in this process, from 1
	// Live is how many bytes the mark phase found alive, without what was allocated while it
	// marked, garbage or not. Usual is the median of the nine mark phases before.
	Live, Usual int64
	// LeftOut is how many mark phases beyond the threshold were skipped since the previous spike,
	// because of Interval and PerDay.
	LeftOut int
	// Missed is how many mark phases since Start were not judged: they ended between two readings,
	// or the watcher was at work then, on a profile, a snapshot, or in OnSpike.
	Missed int

	// Report is the scan of the snapshot that was taken at once, with retained sizes, and with
	// allocation sites as far as the memory profiler recorded them. It is nil if there is no
	// snapshot: then Err says why, and what can be done, as a rule as a *refscan.UnavailableError.
	Report *refscan.Report
	Err    error
	// Held says that Report, too, shows more than the threshold. Otherwise the memory was freed by
	// then.
	Held bool

	// HeapBase and Heap are heap profiles of before the spike and of the end of the mark phase that
	// found it: "go tool pprof -base" of the two shows where the additional memory was allocated.
	// Before is the end of the mark phase before, or a usual moment if much was alive then, too, or
	// if that was not read. Without debug information they are of a usual moment and of the
	// collection right after the spike. Both are gzipped protocol buffers.
	HeapBase, Heap []byte

	all scanreport.Spike
}

// shown is how many places and roots String lists.
const shown = 5

// String describes the spike in some lines: the places that hold more than at the snapshot before,
// with where that was allocated, and the roots that hold most.
func (s *Spike) String() string {
	var b strings.Builder
	if err := s.WriteText(&b, shown); err != nil {
		return err.Error()
	}
	return b.String()
}

// WriteText writes what String returns, but with up to top places and roots.
func (s *Spike) WriteText(w io.Writer, top int) error { return s.all.WriteText(w, top) }

// WriteFolder makes a folder in dir, which has to exist, and returns its path. In it are, as far as
// they exist,
//
//	spike.txt        what WriteText writes
//	report.json      the report, for "leakgate scan -base"
//	base.json        the report of the snapshot that it is compared with
//	retained.pb.gz   what is retained, for "go tool pprof" and "leakgate view"
//	heap.base.pb.gz  HeapBase
//	heap.pb.gz       Heap
//
// The folder is made as a whole or not at all. It takes some hundred KB; old folders are not
// removed.
func (s *Spike) WriteFolder(dir string) (path string, err error) { return s.all.WriteFolder(dir) }

// A Watcher watches until it is stopped. Several goroutines may call its methods at once.
type Watcher struct{ number int }

// running has the watchers that were not stopped. Reports leave out what the tool's own packages
// hold, but the program holds its Watchers. So a Watcher is only a number, and its data is in this
// variable.
var running struct {
	sync.Mutex
	watchers map[int]*watch
	started  int
}

// Start begins to watch, in a goroutine of its own. It is an error if the configuration makes no
// sense. There may be several watchers; their snapshots are taken in turn.
func Start(c Config) (*Watcher, error) {
	threshold := spikerule.Threshold{Share: c.Share, Bytes: c.Bytes}
	if err := threshold.Check(); err != nil {
		return nil, fmt.Errorf("spike: %w", err)
	}
	switch {
	case c.OnSpike == nil:
		return nil, errors.New("spike: OnSpike is nil: there is nobody to tell")
	case c.Interval < 0 || c.PerDay < 0:
		return nil, fmt.Errorf("spike: Interval %v, PerDay %d: neither can be negative", c.Interval, c.PerDay)
	}
	w := newWatch(c, threshold)
	running.Lock()
	defer running.Unlock()
	if running.watchers == nil {
		running.watchers = make(map[int]*watch)
	}
	running.started++
	running.watchers[running.started] = w
	go w.run(running.started)
	return &Watcher{running.started}, nil
}

// forget drops a watcher whose goroutine ends.
func forget(number int) {
	running.Lock()
	defer running.Unlock()
	delete(running.watchers, number)
}

// watch returns nil if the watcher's goroutine has ended, or is about to.
func (w *Watcher) watch() *watch {
	running.Lock()
	defer running.Unlock()
	return running.watchers[w.number]
}

// Ready returns a channel that is closed when spikes can be reported: three mark phases have ended,
// which tell what is usual, and the snapshot to compare with was taken, or failed. It is also
// closed if the watcher is stopped. Programs need not wait for it.
func (w *Watcher) Ready() <-chan struct{} {
	if watch := w.watch(); watch != nil {
		return watch.ready
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// Stop ends the watch and waits until its goroutine is about to end: until a snapshot that is being
// scanned is done, seconds for a large heap, or OnSpike has returned. Called from OnSpike it does
// not wait. It may be called again.
func (w *Watcher) Stop() {
	watch := w.watch()
	if watch == nil {
		return
	}
	watch.cancel()
	if inCallback() {
		return
	}
	<-watch.stopped
}

// inCallback reports whether OnSpike is among the callers.
func inCallback() bool {
	pcs := make([]uintptr, 1<<10)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "refscan/spike.(*watch).call") {
			return true
		}
		if !more {
			return false
		}
	}
}
