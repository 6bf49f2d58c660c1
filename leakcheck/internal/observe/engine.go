// Package observe takes snapshots of this process, and reads from each what is needed, once.
package observe

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/nativeholders"
	"github.com/leakgate/leakgate/internal/engine/proof"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// An Observation has the parts of one snapshot that were asked for.
type Observation struct {
	Report    *refscan.Report  // without a scan of the heap it has no roots
	Names     naming.Inventory // of all that exists in the program; nil without a scan of the heap
	Stacks    *refscan.Stacks
	Functions func() iter.Seq[string] // names of all functions of the program; nil without stacks
	Leaked    []*refscan.LeakedGoroutine
	Resources *ledger.Ledger // nil if they were not asked for
	// without an entry: by nobody else, or that could not be told
	AlsoHeld map[Place]*refscan.Elsewhere
	Native   *Native       // nil if it was not asked for, or the program has no C library
	Settle   time.Duration // how long the process was waited for
	Scan     time.Duration
	Logs     []string // what took long
	Counted  bool     // the types that were asked for are within their bounds, and the audit holds: nothing was scanned
	Heap     string   // the heap profile of the same moment, "" if it was not asked for
}

// Artifacts are what files an observation may leave for a later one to be compared with.
type Artifacts struct {
	Heap   string // the heap profile
	Report *refscan.Report
}

// Artifacts returns zero if no heap profile was asked for: then no files are kept.
func (o *Observation) Artifacts() Artifacts {
	if o.Heap == "" {
		return Artifacts{}
	}
	return Artifacts{o.Heap, o.Report}
}

// A Frozen is the source that an engine reads: a *refscan.Snapshot, but for tests that count what
// is read.
type Frozen interface {
	Scan(opts ...refscan.ScanOption) (*refscan.Report, error)
	Stacks() (*refscan.Stacks, error)
	LeakedGoroutines() ([]*refscan.LeakedGoroutine, error)
	PackageNames() map[string]string
	CountTypes(all []*proof.TypeCount) (r *refscan.Report, within bool, err error)
	Elsewhere(is func(path, typ string) bool) (*refscan.Elsewhere, error)
	NativeHolders(is func(nativeheap.Block) bool) (*nativeholders.Result, error)
	NativeFreed(keys []string, asObjects bool) (nativeholders.Sum, error)
	Settled() time.Duration
	Close() error
}

// An Engine takes snapshots of this process.
type Engine struct {
	Capture func(...refscan.CaptureOption) (Frozen, error)
}

func NewEngine() *Engine {
	return &Engine{Capture: func(opts ...refscan.CaptureOption) (Frozen, error) { return Capture(opts...) }}
}

// A Logger gathers what took long.
type Logger struct {
	mu    sync.Mutex
	lines []string
}

// Option has a capture tell the logger, from any goroutine.
func (l *Logger) Option() refscan.CaptureOption { return refscan.WithLog(l.Log) }

// Log tells the logger, from any goroutine.
func (l *Logger) Log(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// Lines are the lines logged until now.
func (l *Logger) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

// Reach reports whether package variables lead to no more than what is asked says, and what took
// long. Errors are those of Observe.
func Reach(ctx context.Context, all []*proof.Reach) (within bool, logs []string, err error) {
	Observing.Lock()
	defer Observing.Unlock()
	var log Logger
	within, err = proof.ReachWithin(ctx, log.Log, all)
	return within, log.Lines(), public(err)
}

// One observation at a time: settling takes longer while another scan is under way.
var Observing sync.Mutex

// Observe takes a snapshot of this process and reads what is needed from it, each thing once. Where
// stacks are all that is needed it neither settles the process nor looks at the heap. What cannot
// be done is a *refscan.UnavailableError. ctx bounds the wait for the process to settle.
func (e *Engine) Observe(ctx context.Context, n Needs) (*Observation, error) {
	o := &Observation{}
	var log Logger
	defer func() { o.Logs = log.Lines() }()
	opts := []refscan.CaptureOption{refscan.WithContext(ctx), log.Option()}
	if !n.Heap && !n.Leaked && !n.Stacks {
		if n.Collect {
			collect()
		}
		o.Report = &refscan.Report{GoVersion: runtime.Version()}
		return o, nil
	}
	if !n.Heap && !n.Leaked {
		stacks, err := refscan.CaptureStacks(opts...)
		if err != nil {
			return nil, err
		}
		o.setStacks(stacks)
		return o, nil
	}
	if !n.Names {
		opts = append(opts, refscan.AllowMissingDWARF())
	}
	if n.AsIs {
		opts = append(opts, refscan.WithoutSettling())
	}
	Observing.Lock()
	defer Observing.Unlock()
	var cannot error
	if n.Native {
		_, cannot = nativeheap.Take()
		opts = append(opts, snapshot.Foreign{})
	}
	taken, err := e.Capture(opts...)
	if err != nil {
		return nil, err
	}
	if n.Profile {
		// Settling ended with a collection, which published the profile of that moment. The scan's
		// own allocations may cause another.
		o.Heap = HeapProfile()
	}
	o.Settle = taken.Settled()
	err = o.read(taken, n)
	if err == nil && n.Native {
		o.readNative(taken, cannot)
		for _, c := range n.Cuts {
			if c.Keys != nil {
				c.readNative(taken, o)
			}
		}
	}
	if closeErr := taken.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// collect has what nobody refers to any more finalized: the second collection frees what the
// finalizers of the first have let go of.
func collect() {
	const yields = 1000
	for range 2 {
		runtime.GC()
		for range yields {
			runtime.Gosched()
		}
	}
}

// setStacks keeps stacks. Their report stands for that on the heap, until there is one.
func (o *Observation) setStacks(s *refscan.Stacks) {
	o.Stacks, o.Functions = s, s.FuncNames
	naming.LearnPackageNames(s.PackageNames())
	o.Report = &refscan.Report{GoVersion: s.GoVersion, Pause: s.Pause, Warnings: s.Warnings}
}

// read reads what is needed from a snapshot.
func (o *Observation) read(s Frozen, n Needs) error {
	if n.Stacks {
		stacks, err := s.Stacks()
		if err != nil {
			return err
		}
		o.setStacks(stacks)
	}
	if n.Leaked {
		var err error
		if o.Leaked, err = s.LeakedGoroutines(); err != nil {
			return err
		}
	}
	if !n.Heap {
		return nil
	}
	if len(n.Types) > 0 {
		naming.LearnPackageNames(s.PackageNames())
		r, within, err := s.CountTypes(n.Types)
		if err != nil {
			return err
		}
		if within && Audit(r) == nil {
			o.Report, o.Counted = r, true
			return nil
		}
	}
	if err := o.scanHeap(s, n); err != nil {
		return err
	}
	if o.Report.NoDebugInfo != nil {
		return nil
	}
	o.AlsoHeld = make(map[Place]*refscan.Elsewhere)
	for _, p := range n.AlsoHeldBy {
		held, err := s.Elsewhere(func(path, typ string) bool {
			return symbol.Unescape(path) == p.Path && naming.CleanType(typ) == p.Typ
		})
		if err == nil && held != nil {
			o.AlsoHeld[p] = held
		}
	}
	return nil
}

// scanHeap makes the report on the heap.
func (o *Observation) scanHeap(s Frozen, n Needs) (err error) {
	opts := []refscan.ScanOption{refscan.WithAllocationSites()}
	if n.Retained {
		opts = append(opts, refscan.WithRetainedSets(func(r *refscan.Report) []*refscan.NodeSet {
			var sets []*refscan.NodeSet
			for _, c := range n.Cuts {
				if c.Nodes != nil {
					c.Set = &refscan.NodeSet{Nodes: c.Nodes(r)}
					sets = append(sets, c.Set)
				}
			}
			return sets
		}))
	}
	start := time.Now()
	o.Report, err = s.Scan(opts...)
	o.Scan = time.Since(start)
	if err != nil {
		return err
	}
	o.Names = o.Report
	naming.LearnPackageNames(o.Report.PackageNames())
	if n.Retained && !o.Report.Retained {
		return &refscan.UnavailableError{
			Cause:  "what is retained by what is too complex to be told apart in the memory that a test may take for it",
			Remedy: "bound MaxObjects or MaxBytes instead",
		}
	}
	return nil
}
