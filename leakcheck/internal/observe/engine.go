// Package observe takes snapshots of this process, and reads what is needed from each, once.
package observe

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/refscan"
)

// An Observation has the parts of one snapshot that were asked for.
type Observation struct {
	Report    *refscan.Report  // without a scan of the heap it has no roots
	Names     naming.Inventory // of all that exists in the program; nil without a scan of the heap
	Stacks    *refscan.Stacks
	Functions func() iter.Seq[string] // names of all functions of the program; nil without stacks
	// whether goroutines may start in the functions that is selects, and where they start in what
	// these call, see proof.Starts; nil: it is not asked
	Starts    func(is func(name string) bool) (may, known bool, within []Start)
	Leaked    []*refscan.LeakedGoroutine
	Resources *ledger.Ledger // nil if they were not asked for
	// other holders of the objects at a place; a place without an entry has none, or they could not
	// be found
	AlsoHeld map[Place]*refscan.Elsewhere
	Native   *native.Answer // nil if it was not asked for, or the program has no C library
	Settle   time.Duration  // how long the process took to settle
	Scan     time.Duration
	Frozen   time.Duration // when the process was frozen, by realtime.Clock
	Logs     []string      // notes on slow steps
	Kept     Frozen        // the snapshot, for further scans; nil unless it was asked for
	Heap     string        // the heap profile of the same moment, "" if it was not asked for
}

// Artifacts are the parts of an observation from which files are written, to compare a later
// observation with.
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

// A Frozen is the snapshot that an engine reads: a Process, except in tests that count what is
// read.
type Frozen interface {
	Scan(opts ...refscan.ScanOption) (*refscan.Report, error)
	Stacks() (*refscan.Stacks, error)
	LeakedGoroutines() ([]*refscan.LeakedGoroutine, error)
	Inventory() *debuginfo.Inventory
	Arrange(*refscan.Order)
	Held(queries ...refscan.Query) ([]*refscan.Held, error)
	Elsewhere(of refscan.Query, is func(path, typ string) bool) (*refscan.Elsewhere, error)
	ReadContent(*ContentQuery) error
	NativeHolders(is func(native.Block) bool) (*native.Holders, error)
	NativeFreed(keys []string, asObjects bool) (native.Sum, error)
	Settled() time.Duration
	FrozenAt() time.Duration
	Detach() error
	Close() error
}

// An Engine takes snapshots of a process.
type Engine struct {
	Capture   func(...refscan.CaptureOption) (Frozen, error)
	Starts    func(is func(name string) bool) (may, known bool, within []Start) // of its observations
	Elsewhere bool                                                              // it is not this process: nothing is collected in it, and its heap profile is not known
}

func NewEngine() *Engine {
	return &Engine{Capture: func(opts ...refscan.CaptureOption) (Frozen, error) { return Capture(opts...) }, Starts: starts}
}

// A Logger collects notes on slow steps.
type Logger struct {
	mu    sync.Mutex
	lines []string
}

// Option makes a capture log to l, from any goroutine.
func (l *Logger) Option() refscan.CaptureOption { return refscan.WithLog(l.Log) }

// Log adds a note. Any goroutine may call it.
func (l *Logger) Log(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// Lines returns the notes logged so far.
func (l *Logger) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

// Prove calls proof.Within, and returns notes on slow steps. Errors are those of Observe.
func Prove(ctx context.Context, c proof.Claims) (within bool, logs []string, err error) {
	Observing.Lock()
	defer Observing.Unlock()
	var log Logger
	c.Learn = naming.LearnPackageNames
	within, err = proof.Within(ctx, log.Log, c)
	return within, log.Lines(), public(err)
}

// Ended calls proof.EndedVariables.
func Ended(stack []uintptr, is func(reference string) bool) []proof.Ended {
	return proof.EndedVariables(context.Background(), stack, is)
}

// A Start is a function with a go statement, and where it is declared.
type Start struct {
	Function string
	File     string
	Line     int
}

// starts calls proof.Starts.
func starts(is func(name string) bool) (may, known bool, within []Start) {
	may, known, found := proof.Starts(context.Background(), is)
	for _, f := range found {
		within = append(within, Start{symbol.Unescape(f.Name), f.File, f.Line})
	}
	return may, known, within
}

// Observing is held during an observation: settling takes longer while another scan is under way.
var Observing sync.Mutex

// Observe takes a snapshot of this process and reads what is needed from it, each thing once. If
// only stacks are needed, it neither settles the process nor reads the heap. What cannot be done is
// a *refscan.UnavailableError. ctx bounds the wait for the process to settle, and its deadline the
// scans.
func (e *Engine) Observe(ctx context.Context, n Needs) (*Observation, error) {
	o := &Observation{Starts: e.Starts}
	var log Logger
	defer func() { o.Logs = log.Lines() }()
	opts := []refscan.CaptureOption{refscan.WithContext(ctx), snapshot.ScansWithin{Context: ctx}, log.Option(), snapshot.Queries{Held: len(n.Held) > 0, Retained: n.Retained}}
	if !n.Heap && !n.Leaked && !n.Stacks {
		if n.Collect && !e.Elsewhere {
			collect()
		}
		o.Report = &refscan.Report{GoVersion: runtime.Version()}
		return o, nil
	}
	if !n.Heap && !n.Leaked && !e.Elsewhere {
		stacks, err := refscan.CaptureStacks(opts...)
		if err != nil {
			return nil, err
		}
		o.setStacks(stacks)
		return o, nil
	}
	if n.AsIs {
		opts = append(opts, refscan.WithoutSettling())
	}
	Observing.Lock()
	defer Observing.Unlock()
	var cannot error
	if n.Native {
		_, cannot = native.Take()
	}
	if n.Native || n.Content != nil && n.Content.Arrays {
		opts = append(opts, snapshot.Foreign{})
	}
	taken, err := e.Capture(opts...)
	if err != nil {
		return nil, err
	}
	if n.Profile && !e.Elsewhere {
		// Settling ended with a collection, which published the profile of that moment. The scan's
		// own allocations may cause another.
		o.Heap = HeapProfile()
	}
	o.Settle, o.Frozen = taken.Settled(), taken.FrozenAt()
	err = o.read(taken, n)
	if err == nil && n.Native {
		o.readNative(taken, cannot)
		for _, c := range n.Cuts {
			if c.Keys != nil {
				c.readNative(taken, o)
			}
		}
	}
	end := taken.Close
	if n.Keep && err == nil {
		o.Kept, end = taken, taken.Detach
	}
	if endErr := end(); err == nil {
		err = endErr
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// collect runs the finalizers of objects that nothing refers to any more. The second collection
// frees what these finalizers have released.
func collect() {
	const yields = 1000
	for range 2 {
		runtime.GC()
		for range yields {
			runtime.Gosched()
		}
	}
}

// setStacks stores stacks. Until the heap is scanned, the report has only their data.
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
	s.Arrange(n.Order)
	if err := o.scanHeap(s, n); err != nil {
		return err
	}
	if err := answer(s, n.Held, func(h *Held, result *refscan.Held) { h.Result = result }); err != nil {
		return err
	}
	o.AlsoHeld = make(map[Place]*refscan.Elsewhere)
	for _, p := range n.AlsoHeldBy {
		var of refscan.Query
		if p.Of != nil {
			of = *p.Of
		}
		held, err := s.Elsewhere(of, func(path, typ string) bool {
			return symbol.Unescape(path) == p.Path && naming.CleanType(typ) == p.Typ
		})
		if err == nil && held != nil {
			o.AlsoHeld[p] = held
		}
	}
	if n.Content != nil {
		_ = s.ReadContent(n.Content) // an addition to messages
	}
	return nil
}

// answer answers queries for what nodes hold.
func answer(s Frozen, held []*Held, put func(*Held, *refscan.Held)) error {
	if len(held) == 0 {
		return nil
	}
	queries := make([]refscan.Query, len(held))
	for i, h := range held {
		queries[i] = *h.Query
	}
	results, err := s.Held(queries...)
	for i := range results {
		put(held[i], results[i])
	}
	return err
}

// Recall scans a kept snapshot again, in the order that n asks for, and answers its queries for
// what nodes held then.
func Recall(s Frozen, n Needs) (*refscan.Report, error) {
	Observing.Lock()
	defer Observing.Unlock()
	s.Arrange(n.Order)
	r, err := s.Scan()
	if err == nil {
		err = answer(s, n.Held, func(h *Held, result *refscan.Held) { h.Before = result })
	}
	return r, err
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
	program := s.Inventory()
	for _, n := range o.Report.Roots {
		program.Found = append(program.Found, n.Name)
	}
	o.Names = program
	naming.LearnPackageNames(program.PackageNames())
	if n.Retained && !o.Report.Retained {
		return &refscan.UnavailableError{
			Cause:  "what is retained by what is too complex to be told apart in the memory that a test may take for it",
			Remedy: "bound MaxObjects or MaxBytes instead",
		}
	}
	return nil
}
