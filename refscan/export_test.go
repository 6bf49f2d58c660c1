package refscan

import (
	"errors"
	"math/bits"
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Model is the model of the runtime in the snapshot.
func (s *Snapshot) Model() *goruntime.Model { return s.in().Model() }

// Index is the program's debug information.
func (s *Snapshot) Index() *debuginfo.Index { return s.in().Index() }

// WithoutSecondLook makes the second of two freezes fail.
func WithoutSecondLook() CaptureOption {
	return captureOption(func(c *snapshot.Config) {
		c.Again = func(func() bool) (snapshot.Frozen, error) { return nil, errors.ErrUnsupported }
	})
}

// Attribution returns the attribution of the object graph, a part of Scan, as a function that may
// be called repeatedly.
func (s *Snapshot) Attribution() (func(), error) {
	graph, err := s.in().Heap()
	return func() { attribute.Run(graph, snapshot.ThisProgram(), attribute.Options{}) }, err
}

// Alive is how many objects are alive, once the heap is typed.
func (s *Snapshot) Alive() (n int64) {
	heap, err := s.in().Heap()
	if err != nil {
		return 0
	}
	for _, word := range heap.Live.Marked {
		n += int64(bits.OnesCount64(word))
	}
	return n
}

// AliveInTheMiddle returns the address of an object that is alive, about half of all before it.
func (s *Snapshot) AliveInTheMiddle() (uintptr, error) {
	heap, err := s.in().Heap()
	if err != nil {
		return 0, err
	}
	half := s.Alive() / 2
	for obj := range heap.Model.NumObjects {
		if !heap.Live.Marked.Has(obj) {
			continue
		}
		if half--; half < 0 && !heap.Model.SpanOf(obj).Tiny {
			return uintptr(heap.Model.SpanOf(obj).Addr(obj)), nil
		}
	}
	return 0, ErrNotAlive
}

// MissedTypes lists the missed objects of a scan that does not reach the objects at these
// addresses.
func (s *Snapshot) MissedTypes(addrs ...uint64) ([]*Node, error) {
	heap, err := s.in().Heap()
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if _, obj := s.in().Model().Object(addr); obj < s.in().Model().NumObjects {
			heap.Live.Marked.Remove(obj)
		}
	}
	all, _ := missedTypes(heap, func(*goruntime.Span, uint32) bool { return false })
	return all, nil
}

// Program tells to whom the packages and goroutines of this program belong.
func Program() root.Program { return snapshot.ThisProgram() }

// RemarkTaken reports whether there are the marks of the collection after the snapshot.
func (s *Snapshot) RemarkTaken() bool { return s.in().SecondMarks() }

// PID is the process ID of the frozen process.
func (s *Snapshot) PID() int { return s.in().Process().(*freeze.Process).PID() }

// ReadAnew reads the runtime's structures again.
func (s *Snapshot) ReadAnew() (err error) {
	defer public(&err)
	pc, sp := s.in().Process().Caller()
	m, err := goruntime.LoadSpans(image.NewSpace(s.in().Process()), s.in().Index(), s.in().Model().Bias(), runtime.GOARCH)
	if err == nil {
		err = m.LoadObjects(goruntime.Caller{G: uint64(s.in().Process().CallerG()), PC: uint64(pc), SP: uint64(sp)})
	}
	if err != nil {
		return snapshot.ModelError(err)
	}
	return nil
}

// Forecast is how many bytes the image, and the scan without pages that are copied on write, were
// expected to take.
func Forecast(s *Snapshot) (image, scan int64) {
	return s.in().Forecast()
}

// OnDisk reports whether the snapshot's image is on a disk.
func OnDisk(s *Snapshot) bool { return s.in().OnDisk() }

// SetSystem makes the limits of memory be read below a folder until it is undone.
func SetSystem(root string) (undo func()) {
	return snapshot.SetSystem(root)
}

// ExampleOf is what Elsewhere shows of an object.
var ExampleOf = exampleOf
