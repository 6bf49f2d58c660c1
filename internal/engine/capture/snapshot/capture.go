// Package snapshot takes a frozen, consistent image of this process: it waits for the program to
// settle, checks that there is enough memory, freezes the process, and reads the runtime's
// structures.
package snapshot

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/process/inplace"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/envvar"
)

// Config says how to capture.
type Config struct {
	Context context.Context
	Settle  bool
	Logf    func(string, ...any)
	Again   func(ready func() bool) (Frozen, error) // takes the second of two snapshots; nil: as the first
	Foreign bool                                    // the snapshot has all memory, C code's memory included
	Scans   context.Context                         // its deadline bounds all scans; nil: nothing does
	Queries Queries                                 // what memory is asked for beside a scan
}

// ScansWithin is the option of captures whose scans end with an error when the deadline of a
// context has passed.
type ScansWithin struct{ Context context.Context }

// Configure sets the option.
func (w ScansWithin) Configure(c *Config) { c.Scans = w.Context }

// Foreign is the option of captures whose snapshot has all memory, not only the memory of Go code.
type Foreign struct{}

// Configure sets the option.
func (Foreign) Configure(c *Config) { c.Foreign = true }

// Default returns a configuration that settles and logs nothing.
func Default() Config {
	return Config{Context: context.Background(), Settle: true, Logf: func(string, ...any) {}}
}

// A Snapshot is a frozen, consistent image of this process. It holds a child process, memory
// outside of the Go heap and a few descriptors until Close. It is not safe for concurrent use.
type Snapshot struct {
	process         Frozen
	noFork          *freeze.Error // why the system refuses a fork, or to read it; nil if it does not
	collect         func()        // lets the runtime collect garbage again as it likes; nil: it may
	queries         Queries       // that memory was asked for
	small           bool          // the image is to be copied in place, since the forecast says that it is small
	smallCopyFailed bool          // a small copy lacked memory; a fork has all of it
	cycles          uint32        // collections that have ended before the freeze
	inPlace         bool          // process is a copy made in place,
	copied          int64         // bytes that the copy in place takes
	bias            uint64
	model           *goruntime.Model
	index           *debuginfo.Index
	secondMarks     secondGCMarks // nil if the program is at rest, or if they are not known
	// collections is how many collections the program made by itself between two freezes.
	collections int
	// undecided says that the process is not at rest, and that later is nil all the same.
	undecided bool
	// onDisk is the size in bytes of an image that goes onto a disk, since memory is too short for
	// it; 0 if the image is in memory. short is the error that says how much memory is short.
	onDisk  int64
	short   error
	graph   *typedheap.Heap // nil until it is needed
	settled time.Duration
	pause   time.Duration
	stopped *root.Program // of a process that another program stopped, else nil
	release func() error  // Close calls it for such a process
	order   root.Order    // see Arrange
	roots   []*root.Entry // in this order, once they are listed
}

// captures serializes captures: each freezes the whole process.
var captures sync.Mutex

// anchor is a variable whose address tells how far a position-independent program was relocated.
var anchor byte

// maxFreezes bounds how often Capture tries again when it finds that a garbage collection was
// under way.
const maxFreezes = 5

// Capture takes a snapshot; see refscan.Capture. If it cannot, the error is an *Unavailable.
func Capture(config Config) (_ *Snapshot, err error) {
	captures.Lock()
	defer captures.Unlock()
	s := &Snapshot{}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	defer Guard(&err)()

	// With its red zone a small object fills a slot that has room for two of its kind. The scan
	// would take it for an array of two, which bounds on the type leave out.
	if Padded {
		return nil, ErrPadded()
	}
	if err := CheckSettings(); err != nil {
		return nil, err
	}
	memoryNeeded(true, config.Queries).begin()
	if err := checkMemory(need(0, indexReading, 0)); err != nil {
		return nil, err
	}
	if s.index, err = OpenIndex(config.Context, config.Logf); err != nil {
		return nil, withEnough(err)
	}
	f := memoryNeeded(true, config.Queries)
	if twice := f.need(); checkMemory(headroom.Need{Resident: 2 * twice.Resident, Private: twice.Private, Address: twice.Address}) != nil {
		debug.FreeOSMemory() // what reading the index, or a snapshot before, has left behind
	}
	s.collect = withFewCollections(f.need())
	if s.bias, err = LoadBias(s.index); err != nil {
		return nil, err
	}
	if inplace.Supported {
		_ = s.makePlan() // before the freeze, since it allocates; takeInPlace returns the error
	}
	start := time.Now()
	rests := false
	if config.Settle {
		if rests, err = settle(config.Context); err != nil {
			return nil, err
		}
	}
	if !rests {
		if err := CollectNow(config.Context); err != nil {
			return nil, err
		}
	}
	s.cycles = uint32(collections())
	s.settled = time.Since(start)
	for try := 1; ; try++ {
		err := s.freeze(&config, rests)
		switch { // each case occurs once, but for collections
		case err == nil:
			return s, nil
		case errors.Is(err, errOnDisk), s.avoidFork(err):
		case errors.Is(err, errAwake):
			rests = false
		case errors.Is(err, goruntime.ErrCollecting) && try < maxFreezes:
		case s.small:
			s.smallCopyFailed = true // a fork has all memory
		default:
			return nil, err
		}
		if s.process != nil {
			_ = s.process.Close()
		}
		if err := CollectNow(config.Context); err != nil { // what the attempt allocated is garbage
			return nil, err
		}
		s.cycles = uint32(collections())
	}
}

// ownObjects bounds how many objects Capture itself allocates from the last collection to the
// freeze: 450 each time that it reads the limits of memory, up to four times.
const ownObjects = 2048

// errAwake says that a program that was at rest has collected garbage, or allocated, before it was
// frozen. Capture then has to freeze the process twice.
var errAwake = errors.New("the program has not stayed at rest")

// freeze freezes the process and reads the runtime's structures. If the process is not at rest, it
// freezes the process twice.
func (s *Snapshot) freeze(config *Config, rests bool) (err error) {
	f := memoryNeeded(rests, config.Queries)
	s.small, s.queries = false, config.Queries
	f.begin()
	if err := s.placeImage(f); err != nil {
		return err
	}
	s.small = !s.smallCopyFailed && rests && f.image <= smallImage && s.onDisk == 0 && !config.Foreign
	if config.Foreign {
		giveBackSpare() // the snapshot would have it, too, with what it leads to
	}
	var second Frozen
	if rests {
		s.process, err = s.take(func() bool { return !Marking() })
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
	if s.model, err = goruntime.LoadSpans(image.NewSpace(s.process), s.index, s.bias, runtime.GOARCH); err != nil {
		return ModelError(err)
	}
	s.model.Peek, s.model.Context, s.model.Watch = peekWord, config.Scans, watch.Look
	if s.onDisk > 0 {
		s.model.Watch = s.watchOnDisk()
	}
	if rests && (s.model.Cycles != s.cycles || s.model.NewObjects() > ownObjects) {
		return errAwake
	}
	if err := s.placeForked(); err != nil {
		return err
	}
	if err = s.model.LoadObjects(caller); err != nil {
		return ModelError(err)
	}
	s.model.Now = int64(s.process.Frozen())
	if second != nil {
		s.readLater(second)
	}
	s.undecided = !rests && s.secondMarks == nil
	return nil
}

// ErrPadded is the error of programs that are Padded.
func ErrPadded() error {
	return &Unavailable{
		Cause:  "the program is built with -asan, which makes each object larger than its type",
		Remedy: "run this test without -asan as well, which finds the same leaks; -msan and -race do not pad",
	}
}

// errOnDisk says that the image does not fit into memory, but onto a disk: Capture has to freeze
// the process again.
var errOnDisk = errors.New("the image has to go onto a disk")

// placeImage returns an error if memory is too short for a snapshot and a scan. If memory suffices
// for part of the image (freeze.DiskShare), placeImage has the image go onto a disk instead.
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

// placeForked is placeImage for a process that is frozen. A copy in place is complete already:
// only the scan still needs memory.
func (s *Snapshot) placeForked() error {
	f, was := heapNeeds(s.model, s.queries), s.onDisk
	if s.inPlace {
		return checkMemory(need(0, f.tables, f.written))
	}
	if err := s.placeImage(f); err != nil {
		return err
	}
	if s.onDisk != was {
		return errOnDisk
	}
	return nil
}

// freezeError turns an error of take into an *Unavailable.
func (s *Snapshot) freezeError(err error) error {
	if u := (*Unavailable)(nil); errors.Is(err, freeze.ErrNoDisk) && errors.As(s.short, &u) {
		u.Remedy += ", or set TMPDIR to a folder on a disk with room for the image of the heap"
		return u
	}
	return freezeError(err)
}

// Pause is how long the world was stopped.
func (s *Snapshot) Pause() time.Duration { return s.pause }

// Settled is how long Capture waited for the program to settle.
func (s *Snapshot) Settled() time.Duration { return s.settled }

// FrozenAt is when the process was frozen, by realtime.Clock.
func (s *Snapshot) FrozenAt() time.Duration { return time.Duration(s.model.Now) }

// Close releases what the snapshot holds. It may be called more than once.
func (s *Snapshot) Close() error {
	defer s.allowCollections() // once no page is shared with the frozen process
	s.awaitMarked()
	if s.graph != nil {
		s.graph.Close()
	}
	s.model, s.graph, s.roots = nil, nil, nil
	if release := s.release; release != nil {
		s.release = nil
		return release()
	}
	if s.process == nil {
		return nil
	}
	if s.onDisk > 0 {
		headroom.Spare.Store(0)
	}
	p := s.process
	s.process = nil
	return p.Close()
}

// Detach ends the frozen process, after a scan. What the scan has read stays, for further scans.
func (s *Snapshot) Detach() error {
	defer s.allowCollections() // as in Close
	s.awaitMarked()
	if p, ok := s.process.(interface{ Release() error }); ok {
		return p.Release()
	}
	return nil
}

// allowCollections ends withFewCollections.
func (s *Snapshot) allowCollections() {
	if collect := s.collect; collect != nil {
		s.collect = nil
		collect()
	}
}

var index struct {
	sync.Mutex
	x *debuginfo.Index
}

// OpenIndex opens the program's debug information once. It does not keep failures: a later call
// may find a toolchain or a cache that was missing.
func OpenIndex(ctx context.Context, logf func(string, ...any)) (*debuginfo.Index, error) {
	index.Lock()
	defer index.Unlock()
	if index.x != nil {
		return index.x, nil
	}
	if err := CheckPlatform(); err != nil {
		return nil, err
	}
	// Check the version first: debug information of a newer Go may have changes of its own.
	if err := rtlayout.CheckVersion(runtime.Version()); err != nil {
		return nil, ModelError(err)
	}
	defer withLittleGarbage()()
	x, err := debuginfo.Open(ctx, debuginfo.Options{Logf: logf})
	if err != nil {
		if u := (*Unavailable)(nil); errors.As(err, &u) {
			return nil, u
		}
		return nil, &Unavailable{Cause: "the program's debug information cannot be had", Err: err}
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

// LoadBias returns the difference between the address of this program's code and data in memory
// and their address in the debug information.
func LoadBias(x *debuginfo.Index) (uint64, error) {
	const name = "github.com/leakgate/leakgate/internal/engine/capture/snapshot.anchor"
	g, ok := x.GlobalByName(name)
	if !ok {
		return 0, &Unavailable{Cause: "the debug information does not list the variable " + name, Remedy: "run the test again with LEAKGATE_CACHE=off, and report this if that does not help"}
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
	return &Unavailable{Cause: "the process cannot be frozen", Remedy: RemedyReport, Err: err}
}

// ModelError turns an error of reading the runtime's structures into an *Unavailable.
func ModelError(err error) error {
	if ve := (*rtlayout.VersionError)(nil); errors.As(err, &ve) {
		return &Unavailable{
			Cause:  ve.Error(),
			Remedy: "build it with a Go version that is Supported and without such settings, or use a newer leakgate",
		}
	}
	if errors.Is(err, goruntime.ErrCollecting) {
		return collectingError(err)
	}
	if u := imageError(err, "the frozen process cannot be read: "); u != nil {
		return u
	}
	return &Unavailable{
		Cause:  "the runtime's structures in the frozen process cannot be read",
		Remedy: RemedyReport,
		Err:    err,
	}
}

func collectingError(err error) error {
	return &Unavailable{
		Cause:  "garbage collections are under way all the time",
		Remedy: "let the program come to rest before the assertion",
		Err:    err,
	}
}

// Turn waits until no goroutine freezes or watches the process, and takes the turn. The caller
// ends its turn by calling the result.
func Turn() func() {
	captures.Lock()
	return captures.Unlock
}

// Opened returns an error if the snapshot was closed, or never taken.
func (s *Snapshot) Opened() error {
	if s.model == nil {
		return &Unavailable{Cause: "the snapshot is closed"}
	}
	return nil
}

// Model is the runtime's state in the snapshot, nil once the snapshot is closed.
func (s *Snapshot) Model() *goruntime.Model { return s.model }

// Index is the program's debug information.
func (s *Snapshot) Index() *debuginfo.Index { return s.index }

// Collections is how many garbage collections the program made by itself between two freezes.
func (s *Snapshot) Collections() int { return s.collections }

// Undecided says that the process is not at rest, and that the marks of a collection after the
// snapshot are not known.
func (s *Snapshot) Undecided() bool { return s.undecided }

// Process is the frozen process, nil for a snapshot of another one.
func (s *Snapshot) Process() Frozen { return s.process }

// NotForked is why the process was copied in place and not forked, "" if it was forked.
func (s *Snapshot) NotForked() string {
	switch {
	case !s.inPlace:
		return ""
	case s.noFork != nil:
		return s.noFork.Err.Error()
	case !freeze.Supported:
		return "processes cannot be forked on " + runtime.GOOS
	case s.small:
		return "the image is small"
	}
	return envvar.Freeze.Name() + " says so"
}

// OnDisk reports whether the image is on a disk.
func (s *Snapshot) OnDisk() bool { return s.onDisk > 0 }

func peekWord(addr uint64) uint64 { return uint64(offheap.Word(uintptr(addr))) }
