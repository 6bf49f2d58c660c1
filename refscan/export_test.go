package refscan

import (
	"context"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
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

// Attribution returns the object graph's part of Scan, to be called again and again.
func (s *Snapshot) Attribution() (func(), error) {
	graph, err := s.buildGraph()
	return func() { graph.Attribute(nil) }, err
}
