package refscan

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/freeze"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
	"github.com/leakgate/leakgate/refscan/internal/heapgraph"
	"github.com/leakgate/leakgate/refscan/internal/image"
)

// A CaptureOption changes how Capture works.
type CaptureOption interface{ applyCapture(*captureConfig) }

type captureConfig struct {
	ctx    context.Context
	settle bool
	logf   func(string, ...any)
	open   func(context.Context, func(string, ...any)) (*debuginfo.Index, error)
	// nameless makes do without debug information; nil if that is not allowed.
	nameless func(*freeze.Process, goruntime.Caller) (heapgraph.Names, error)
}

type captureOption func(*captureConfig)

func (f captureOption) applyCapture(c *captureConfig) { f(c) }

// WithContext bounds the preparations of a capture: the search for debug information, which may have
// to build a twin of the test binary, and the wait for the program to settle.
func WithContext(ctx context.Context) CaptureOption {
	return captureOption(func(c *captureConfig) { c.ctx = ctx })
}

// WithoutSettling freezes the process as it is, after one garbage collection, without waiting for
// finalizers, cleanups and ending goroutines.
func WithoutSettling() CaptureOption {
	return captureOption(func(c *captureConfig) { c.settle = false })
}

// WithLog tells logf what takes long, such as building a twin.
func WithLog(logf func(format string, args ...any)) CaptureOption {
	return captureOption(func(c *captureConfig) { c.logf = logf })
}

// A Snapshot is a frozen, consistent image of this process. It holds a child process, memory outside
// of the Go heap and a few descriptors until Close. It is not safe for concurrent use.
type Snapshot struct {
	process *freeze.Process
	model   *goruntime.Model
	index   *debuginfo.Index  // nil without debug information
	names   heapgraph.Names   // index, or what stands in for it
	without *UnavailableError // why there is no debug information
	later   laterMarks        // nil where the program is at rest
	graph   *heapgraph.Graph  // nil until it is needed
	settled time.Duration
	pause   time.Duration
}

// captures makes captures take turns: each freezes the whole process.
var captures sync.Mutex

// anchor is a variable whose address tells how far a position-independent program was moved.
var anchor byte

// maxFreezes bounds how often Capture tries again when a garbage collection was under way.
const maxFreezes = 5

// Capture waits for the program to settle, collects garbage and freezes the process by forking it.
// The program stands still for the fork only, some milliseconds; Pause tells. The first
// capture of a binary also reads (or builds) its debug information, which takes up to some seconds.
//
// Whatever cannot be done is an *UnavailableError. Capture may be called from several goroutines at
// once; they take turns.
func Capture(opts ...CaptureOption) (_ *Snapshot, err error) {
	config := captureConfig{ctx: context.Background(), settle: true, open: openIndex, logf: func(string, ...any) {}}
	for _, o := range opts {
		o.applyCapture(&config)
	}
	captures.Lock()
	defer captures.Unlock()
	s := &Snapshot{}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	defer guard(&err)()

	if err := s.open(&config); err != nil {
		return nil, err
	}
	bias := uint64(0)
	if s.index != nil {
		if bias, err = loadBias(s.index); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	rests := false
	if config.settle {
		if rests, err = settle(config.ctx); err != nil {
			return nil, err
		}
	}
	if !rests {
		if err := collect(config.ctx); err != nil {
			return nil, err
		}
	}
	s.settled = time.Since(start)
	for try := 1; ; try++ {
		err := s.freeze(&config, rests, bias)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, goruntime.ErrCollecting) || try == maxFreezes {
			return nil, err
		}
		_ = s.process.Close()
		if err := collect(config.ctx); err != nil {
			return nil, err
		}
	}
}

// freeze freezes the process and reads the runtime's structures; where it is not at rest, twice.
func (s *Snapshot) freeze(config *captureConfig, rests bool, bias uint64) (err error) {
	var second *freeze.Process
	if rests {
		s.process, err = freeze.Take()
	} else {
		s.process, second, err = freezeTwice(config.ctx)
	}
	if err != nil {
		return freezeError(err)
	}
	if second != nil {
		defer func() { _ = second.Close() }()
	}
	s.pause = s.process.Pause()
	pc, sp := s.process.Caller()
	caller := goruntime.Caller{G: uint64(s.process.CallerG()), PC: uint64(pc), SP: uint64(sp)}
	if s.index == nil {
		if s.names, err = config.nameless(s.process, caller); err != nil {
			return &UnavailableError{Cause: s.without.Cause, Remedy: s.without.Remedy, Err: errors.Join(s.without.Err, err)}
		}
	}
	if s.model, err = goruntime.Load(image.NewSpace(s.process), s.names, bias, runtime.GOARCH, caller); err != nil {
		return modelError(err)
	}
	if second != nil {
		s.readLater(second)
	}
	return nil
}

// Pause is how long the world was stopped.
func (s *Snapshot) Pause() time.Duration { return s.pause }

// Settled is how long Capture waited for the program to settle.
func (s *Snapshot) Settled() time.Duration { return s.settled }

// Close gives back what the snapshot holds. It may be called more than once.
func (s *Snapshot) Close() error {
	s.model, s.graph = nil, nil
	if s.process == nil {
		return nil
	}
	p := s.process
	s.process = nil
	return p.Close()
}

var index struct {
	sync.Mutex
	x       *debuginfo.Index
	without *UnavailableError // why captures without names do without
}

// open gets the debug information, or the reason why there is none if the capture is allowed to go on without. That is kept for
// later captures that are: to find it out may take minutes. Captures take turns.
func (s *Snapshot) open(config *captureConfig) error {
	if config.nameless != nil && index.without != nil {
		s.without = index.without
		return nil
	}
	x, err := config.open(config.ctx, config.logf)
	if err == nil {
		s.index, s.names = x, x
		return nil
	}
	without, ok := errors.AsType[*UnavailableError](err)
	if !ok || config.nameless == nil || config.ctx.Err() != nil || !supported {
		return err
	}
	s.without, index.without = without, without
	return nil
}

// openIndex opens the program's debug information once. Failures are not kept: a later call may
// find a toolchain or a cache that was missing.
func openIndex(ctx context.Context, logf func(string, ...any)) (*debuginfo.Index, error) {
	index.Lock()
	defer index.Unlock()
	if index.x != nil {
		return index.x, nil
	}
	if !supported {
		return nil, unsupportedError()
	}
	// The first to ask: debug information of a newer Go may have changes of its own.
	if err := goruntime.CheckVersion(runtime.Version()); err != nil {
		return nil, modelError(err)
	}
	x, err := debuginfo.Open(ctx, debuginfo.Options{Logf: logf})
	if err != nil {
		if u, ok := errors.AsType[*debuginfo.Unavailable](err); ok {
			return nil, &UnavailableError{Cause: u.Cause, Remedy: u.Remedy, Err: u.Err}
		}
		return nil, &UnavailableError{Cause: "the program's debug information cannot be had", Err: err}
	}
	for _, w := range x.Warnings() {
		logf("%s", w)
	}
	index.x = x
	return x, nil
}

func loadBias(x *debuginfo.Index) (uint64, error) {
	const name = "github.com/leakgate/leakgate/refscan.anchor"
	g, ok := x.GlobalByName(name)
	if !ok {
		return 0, &UnavailableError{Cause: "the debug information does not list the variable " + name, Remedy: "run the test again with LEAKGATE_CACHE=off, and report this if that does not help"}
	}
	return uint64(uintptr(unsafe.Pointer(&anchor))) - g.Addr, nil
}

func freezeError(err error) error {
	if fe, ok := errors.AsType[*freeze.Error](err); ok {
		return &UnavailableError{Cause: "the process cannot be frozen: " + fe.Op + " failed", Remedy: fe.Remedy, Err: fe.Err}
	}
	return &UnavailableError{Cause: "the process cannot be frozen", Err: err}
}

func modelError(err error) error {
	if ve, ok := errors.AsType[*goruntime.VersionError](err); ok {
		return &UnavailableError{
			Cause:  ve.Error(),
			Remedy: "build it with a Go version that is supported and without such settings, or use a newer leakgate",
		}
	}
	if errors.Is(err, goruntime.ErrCollecting) {
		return &UnavailableError{
			Cause:  "garbage collections are under way all the time",
			Remedy: "let the program come to rest before the assertion",
			Err:    err,
		}
	}
	return &UnavailableError{
		Cause:  "the runtime's structures in the frozen process cannot be read",
		Remedy: remedyReport,
		Err:    err,
	}
}
