package refscan

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/freeze"
	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/heaptype"
	"github.com/leakgate/leakgate/internal/engine/image"
	"github.com/leakgate/leakgate/internal/engine/root"
	"github.com/leakgate/leakgate/internal/engine/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/typedheap"
)

// A CaptureOption changes how Capture works.
type CaptureOption interface{ applyCapture(*captureConfig) }

type captureConfig struct {
	ctx    context.Context
	settle bool
	logf   func(string, ...any)
	open   func(context.Context, func(string, ...any)) (*debuginfo.Index, error)
	again  func(ready func() bool) (*freeze.Process, error) // takes the second of two snapshots
	// nameless makes do without debug information; nil if that is not allowed.
	nameless func(*freeze.Process, goruntime.Caller) (heaptype.Names, error)
}

type captureOption func(*captureConfig)

func (f captureOption) applyCapture(c *captureConfig) { f(c) }

// WithContext bounds the preparations of a capture: the search for debug information, which may
// have to build a twin of the test binary, and the wait for the program to settle.
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

// A Snapshot is a frozen, consistent image of this process. It holds a child process, memory
// outside of the Go heap and a few descriptors until Close. It is not safe for concurrent use.
type Snapshot struct {
	process *freeze.Process
	model   *goruntime.Model
	index   *debuginfo.Index  // nil without debug information
	names   heaptype.Names    // index, or what stands in for it
	without *UnavailableError // why there is no debug information
	later   laterMarks        // nil where the program is at rest
	// collections is how many the program made by itself while it was looked at twice.
	collections int
	// undecided says that the process is not at rest, and later could not be had.
	undecided bool
	// onDisk is the size of an image that goes onto a disk, since memory is too short for it: short
	// says how much. 0 for one in memory.
	onDisk  int64
	short   error
	graph   *typedheap.Heap // nil until it is needed
	settled time.Duration
	pause   time.Duration
	stopped *root.Program // of a process that something else stopped, else nil
	release func() error  // what Close calls then
}

// captures makes captures take turns: each freezes the whole process.
var captures sync.Mutex

// anchor is a variable whose address tells how far a position-independent program was moved.
var anchor byte

// maxFreezes bounds how often Capture tries again when a garbage collection was under way all the
// same.
const maxFreezes = 5

// Capture waits for the program to settle, collects garbage and freezes the process by forking it.
// The program stands still for the fork only, some milliseconds; Pause tells. The first
// capture of a binary also reads (or builds) its debug information, which takes up to some seconds.
//
// Whatever cannot be done is an *UnavailableError. Capture may be called from several goroutines at
// once; they take turns.
func Capture(opts ...CaptureOption) (_ *Snapshot, err error) {
	config := captureConfig{
		ctx: context.Background(), settle: true, open: openIndex, again: freeze.TakeWhen, logf: func(string, ...any) {},
	}
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

	// With its red zone a small object fills a slot that has room for two of its kind, and would be
	// taken for an array of them, which bounds on the type leave out.
	if padded {
		return nil, errPadded()
	}
	if err := checkSettings(); err != nil {
		return nil, err
	}
	if err := checkMemory(need(0, indexReading, 0)); err != nil {
		return nil, err
	}
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
		if errors.Is(err, errOnDisk) { // happens once
			_ = s.process.Close()
			continue
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
	if err := s.placeImage(memoryNeeded(rests)); err != nil {
		return err
	}
	var second *freeze.Process
	if rests {
		s.process, err = s.take(func() bool { return !marking() })
	} else {
		s.process, second, err = s.freezeTwice(config)
	}
	if err != nil {
		return s.freezeError(err)
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
	if s.model, err = goruntime.LoadSpans(image.NewSpace(s.process), s.names, bias, runtime.GOARCH); err != nil {
		return modelError(err)
	}
	was := s.onDisk
	if err := s.placeImage(heapNeeds(s.model)); err != nil {
		return err
	}
	if s.onDisk != was {
		return errOnDisk
	}
	if err = s.model.LoadObjects(caller); err != nil {
		return modelError(err)
	}
	s.model.Now = int64(s.process.Frozen())
	if second != nil {
		s.readLater(second)
	}
	s.undecided = !rests && s.later == nil
	return nil
}

func errPadded() error {
	return &UnavailableError{
		Cause:  "the program is built with -asan, which makes each object larger than its type",
		Remedy: "run this test without -asan as well, which finds the same leaks; -msan and -race do not pad",
	}
}

// errOnDisk says that the image does not fit into memory, but onto a disk: the process has to be
// frozen again.
var errOnDisk = errors.New("the image has to go onto a disk")

// placeImage returns an error if memory is too short for a snapshot and a scan. Where it does for
// part of the image (freeze.DiskShare), that goes onto a disk.
func (s *Snapshot) placeImage(f forecast) error {
	if s.onDisk > 0 {
		return checkMemory(f.withDisk().need())
	}
	err := checkMemory(f.need())
	if err != nil && checkMemory(f.withDisk().need()) == nil {
		s.onDisk, s.short = f.image, err
		return nil
	}
	return err
}

// take freezes the process when it is ready, with an image where placeImage wants it.
func (s *Snapshot) take(ready func() bool) (*freeze.Process, error) {
	if s.onDisk > 0 {
		return freeze.TakeOnDisk(s.onDisk, ready)
	}
	return freeze.TakeWhen(ready)
}

// freezeError is the error of take.
func (s *Snapshot) freezeError(err error) error {
	if u := (*UnavailableError)(nil); errors.Is(err, freeze.ErrNoDisk) && errors.As(s.short, &u) {
		u.Remedy += ", or set TMPDIR to a folder on a disk with room for the image of the heap"
		return u
	}
	return freezeError(err)
}

// Pause is how long the world was stopped.
func (s *Snapshot) Pause() time.Duration { return s.pause }

// Settled is how long Capture waited for the program to settle.
func (s *Snapshot) Settled() time.Duration { return s.settled }

// Close gives back what the snapshot holds. It may be called more than once.
func (s *Snapshot) Close() error {
	if s.graph != nil {
		s.graph.Close()
	}
	s.model, s.graph = nil, nil
	if release := s.release; release != nil {
		s.release = nil
		return release()
	}
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

// open gets the debug information, or the reason why there is none if the capture is allowed to go
// on without. That is kept for later captures that are: to find it out may take minutes. Captures
// take turns.
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
	var without *UnavailableError
	if !errors.As(err, &without) || config.nameless == nil || config.ctx.Err() != nil || !supported {
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
	if err := rtlayout.CheckVersion(runtime.Version()); err != nil {
		return nil, modelError(err)
	}
	x, err := debuginfo.Open(ctx, debuginfo.Options{Logf: logf})
	if err != nil {
		if u := (*debuginfo.Unavailable)(nil); errors.As(err, &u) {
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

// forgetIndex makes the next capture open the debug information anew.
func forgetIndex() {
	index.Lock()
	defer index.Unlock()
	index.x = nil
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
	if errors.Is(err, freeze.ErrNotReady) {
		return collectingError(err)
	}
	if u := imageError(err, "the process cannot be frozen: "); u != nil {
		return u
	}
	return &UnavailableError{Cause: "the process cannot be frozen", Remedy: remedyReport, Err: err}
}

func modelError(err error) error {
	if ve := (*rtlayout.VersionError)(nil); errors.As(err, &ve) {
		return &UnavailableError{
			Cause:  ve.Error(),
			Remedy: "build it with a Go version that is supported and without such settings, or use a newer leakgate",
		}
	}
	if errors.Is(err, goruntime.ErrCollecting) {
		return collectingError(err)
	}
	if u := imageError(err, "the frozen process cannot be read: "); u != nil {
		return u
	}
	return &UnavailableError{
		Cause:  "the runtime's structures in the frozen process cannot be read",
		Remedy: remedyReport,
		Err:    err,
	}
}

func collectingError(err error) error {
	return &UnavailableError{
		Cause:  "garbage collections are under way all the time",
		Remedy: "let the program come to rest before the assertion",
		Err:    err,
	}
}
