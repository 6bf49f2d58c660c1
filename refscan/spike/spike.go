// Package spike watches the live heap of a program while it runs, and when it jumps beyond what is
// usual for one garbage collection, looks at once at who holds it:
//
//	watcher, err := spike.Start(spike.Config{Share: 0.5, OnSpike: func(s *spike.Spike) {
//		if _, err := s.WriteFolder("/var/tmp"); err != nil {
//			log.Print(err)
//		}
//		log.Print(s)
//	}})
//
// Memory that is gone again before anybody looks is what heap profiles at leisure never show.
//
// The live heap is read at the end of each mark phase of the garbage collector, in which the
// runtime itself has counted it: that costs some microseconds each, and nothing in between but a
// timer each second. What was allocated while it marked counts as alive to the runtime, garbage or
// not, and is left out. Where that is not known, as without debug information, a jump is told of
// only if a snapshot shows it, too. Usual is the median of the last nine mark phases. A jump that
// stays is usual before long, and told of once.
//
// A snapshot costs what a request to package refscanhttp does: one garbage collection, a fork, for
// which the program stands still for some milliseconds (10 to 15 for 300 MB, 30 to 40 more for each
// GB), and a scan beside it, about the CPU time of ten garbage collections, and as much memory as
// the heap. One is taken at a spike, within the limits of Config, and one once it is known what is
// usual and then once an hour, to be compared with. Where a limit leaves no memory for it, none is
// taken: Spike.Err says so. A heap profile is kept of a usual moment, a minute old at most if there
// are garbage collections; writing it takes some milliseconds.
//
// Names of package variables and of variables in frames come from the program's debug information,
// which go build writes unless it is told not to (-ldflags=-w). Without it reports have types and
// functions, and say what is missing.
//
// Where the system lets no snapshot be taken, Spike.Err says so, and the heap profiles are there
// all the same.
package spike

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/jump"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// Config says what is a spike, and what is done about it.
type Config struct {
	// Share and Bytes are how much more than usual has to be alive: 0.2 is 20 % more. One has to be
	// given; where both are, both have to be exceeded. Less than 1 MiB more is never a spike.
	Share float64
	Bytes int64

	// OnSpike is called with each spike, in the watcher's goroutine: until it returns, nothing is
	// watched, so that there is one at a time. A panic ends the program, as in any goroutine.
	OnSpike func(*Spike)

	// Interval is the least time between two spikes that are looked at, one minute if it is 0.
	// PerDay is how many are at most in any 24 hours, 24 if it is 0. Spike.LeftOut counts the
	// others.
	Interval time.Duration
	PerDay   int

	// Base is how old the snapshot may become that spikes are compared with, one hour if it is 0.
	// It is renewed while no more is alive than usual. If it is negative none is taken, and reports
	// say who holds all that is alive, but not what of that is more.
	Base time.Duration
}

// A Spike is a garbage collection that found much more alive than is usual.
type Spike struct {
	At    time.Time
	Cycle uint64 // the number of the garbage collection in this process, from 1
	// Live is how many bytes its mark phase found alive, without what was allocated while it
	// marked, garbage or not. Usual is the median of the nine before.
	Live, Usual int64
	// LeftOut is how many mark phases beyond the threshold were not looked at since the spike
	// before, because of Interval and PerDay.
	LeftOut int

	// Report is what the snapshot shows, which was taken at once: retained sizes are known, and
	// where objects were allocated as far as the memory profiler recorded it. nil if there is none:
	// then Err says why, and what can be done, as a rule as a *refscan.UnavailableError.
	Report *refscan.Report
	Err    error
	// Held says that Report shows more than the threshold, too. Otherwise it was gone by then.
	Held bool

	// HeapBase is the heap profile of a usual moment before, and Heap that of the collection right
	// after the spike: "go tool pprof -base" of the two shows where what was alive was allocated.
	// Both are gzipped protocol buffers, nil where the profile could not be written.
	HeapBase, Heap []byte

	all scanreport.Spike
}

// shown is how many places and roots String has.
const shown = 5

// String says what is known of the spike, in some lines: the places that hold more than at the
// snapshot before, with where that was allocated, and the roots that hold most.
func (s *Spike) String() string {
	var b strings.Builder
	if err := s.WriteText(&b, shown); err != nil {
		return err.Error()
	}
	return b.String()
}

// WriteText writes what String says, with as many places and roots as top says.
func (s *Spike) WriteText(w io.Writer, top int) error { return s.all.WriteText(w, top) }

// WriteFolder makes a folder in dir, which has to exist, and returns its path. In it are
//
//	spike.txt        what WriteText writes
//	report.json      the report, for "leakgate scan -base"
//	base.json        that of the snapshot that it is compared with
//	retained.pb.gz   what is retained, for "go tool pprof" and "leakgate view"
//	heap.base.pb.gz  HeapBase
//	heap.pb.gz       Heap
//
// as far as there are such. The folder is there as a whole or not at all; it takes some hundred
// KB, and nobody removes old ones.
func (s *Spike) WriteFolder(dir string) (path string, err error) { return s.all.WriteFolder(dir) }

// A Watcher watches until it is stopped. Its methods may be called by several goroutines at once.
type Watcher struct{ number int }

// running has the watchers that were not stopped. It is a variable of this package, and a Watcher
// only a number, since reports leave out what the tool's own packages hold, and a Watcher is held
// by the program.
var running struct {
	sync.Mutex
	watchers map[int]*watch
	started  int
}

// Start begins to watch, in a goroutine of its own. It is an error if the configuration makes no
// sense. There may be several watchers; their snapshots are taken in turn.
func Start(c Config) (*Watcher, error) {
	threshold := jump.Threshold{Share: c.Share, Bytes: c.Bytes}
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

// watch is nil if the watcher's goroutine has ended, or is about to.
func (w *Watcher) watch() *watch {
	running.Lock()
	defer running.Unlock()
	return running.watchers[w.number]
}

// Ready has a channel that is closed when spikes are told of: three mark phases have ended, which
// tell what is usual, and the snapshot to compare with was taken, or could not be had. If the
// watcher was stopped it is closed, too. Programs need not wait for it.
func (w *Watcher) Ready() <-chan struct{} {
	if watch := w.watch(); watch != nil {
		return watch.ready
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// Stop ends the watch and waits until its goroutine is about to end: when a snapshot that is being
// scanned is done, seconds for a large heap, or OnSpike has returned. In OnSpike itself it does not
// wait. It may be called again.
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

// inCallback reports whether a function that was called from Stop's caller up is OnSpike.
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
