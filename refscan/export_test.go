package refscan

import (
	"context"
	"errors"
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/freeze"
	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/image"
	"github.com/leakgate/leakgate/internal/engine/root"
)

// Model is the runtime as the snapshot has it.
func (s *Snapshot) Model() *goruntime.Model { return s.model }

// Index is the program's debug information.
func (s *Snapshot) Index() *debuginfo.Index { return s.index }

// WithoutDebugInformation makes Capture find none.
func WithoutDebugInformation() CaptureOption {
	return captureOption(func(c *captureConfig) {
		c.open = func(context.Context, func(string, ...any)) (*debuginfo.Index, error) {
			return nil, &UnavailableError{Cause: "the test has no debug information", Remedy: "do without"}
		}
	})
}

// WithoutSecondLook refuses the second of two snapshots.
func WithoutSecondLook() CaptureOption {
	return captureOption(func(c *captureConfig) {
		c.again = func(func() bool) (*freeze.Process, error) { return nil, errors.ErrUnsupported }
	})
}

// Attribution returns the object graph's part of Scan, to be called again and again.
func (s *Snapshot) Attribution() (func(), error) {
	graph, err := s.buildGraph()
	return func() { attribute.Run(graph, program(), attribute.Options{}) }, err
}

// Pending sums up the pending timers by the names of their roots, though other roots may hold what
// they would run.
func (s *Snapshot) Pending() (map[string]root.Pending, error) {
	heap, err := s.buildGraph()
	if err != nil {
		return nil, err
	}
	pending := make(map[string]root.Pending)
	for _, e := range root.List(heap, program()) {
		if e.Kind == root.KindTimer && !e.Class.IsTool() {
			pending[e.Name] = e.Pending
		}
	}
	return pending, nil
}

// MissedTypes lists what a scan misses that does not reach some objects.
func (s *Snapshot) MissedTypes(addrs ...uint64) ([]*Node, error) {
	heap, err := s.buildGraph()
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if _, obj := s.model.Object(addr); obj < s.model.NumObjects {
			heap.Live.Marked.Remove(obj)
		}
	}
	return missedTypes(heap, nil), nil
}

// Program says whose the packages and goroutines of this program are.
func Program() root.Program { return program() }

// RemarkTaken reports whether the collection after the snapshot said what was garbage in it.
func (s *Snapshot) RemarkTaken() bool { return s.later != nil }

// PID is the process ID of the frozen process.
func (s *Snapshot) PID() int { return s.process.PID() }

// ReadAnew reads the runtime's structures once more.
func (s *Snapshot) ReadAnew() error {
	pc, sp := s.process.Caller()
	_, err := goruntime.Load(image.NewSpace(s.process), s.names, s.model.Bias(), runtime.GOARCH,
		goruntime.Caller{G: uint64(s.process.CallerG()), PC: uint64(pc), SP: uint64(sp)})
	if err != nil {
		return modelError(err)
	}
	return nil
}

// Forecast is how many bytes the image was expected to take, and the scan, but for pages that are
// copied on write.
func Forecast(s *Snapshot) (image, scan int64) {
	f := heapNeeds(s.model)
	return f.image, f.tables
}

// OnDisk reports whether the snapshot's image is on a disk.
func OnDisk(s *Snapshot) bool { return s.onDisk > 0 }

// SetSystem has limits of memory read below a folder until it is undone.
func SetSystem(root string) (undo func()) {
	system.Root = root
	return func() { system.Root = "" }
}
