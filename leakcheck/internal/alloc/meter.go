package alloc

import (
	"errors"

	"github.com/leakgate/leakgate/internal/alloctrace"
	"github.com/leakgate/leakgate/refscan"
)

// A meter traces allocations; those between the marks count. Only one meter runs at a time.
type meter struct {
	out         *buffer
	stop        func() // stops the trace, once
	collections uint64 // before the trace
}

func startMeter(memory demand) (*meter, error) {
	m := &meter{out: &buffer{bytes: make([]byte, 0, memory.trace)}, collections: collections()}
	var err error
	if m.stop, err = start(m.out); err != nil {
		return nil, &refscan.UnavailableError{
			Cause:  "allocations are counted by the execution tracer, which is in use",
			Remedy: "run the test without -trace, and end other traces before the assertion",
			Err:    err,
		}
	}
	return m, nil
}

// end stops the trace and reads the allocations of so many calls between the marks.
func (m *meter) end(calls int) (*recording, error) {
	collected := collections() != m.collections
	m.stop()
	if m.out.full {
		return nil, &refscan.UnavailableError{
			Cause:  "op allocates more than a trace of 256 MiB can hold",
			Remedy: "call it less often (Iterations, -benchtime=100x), or measure a part of it",
		}
	}
	classes := sizeClasses()
	counts, err := alloctrace.Read(m.out.bytes, marks, classes)
	m.out.bytes = nil // it may be large, and would count in the next figure of the heap
	switch {
	case errors.Is(err, alloctrace.ErrNoEvents):
		return nil, &refscan.UnavailableError{
			Cause:  "the execution trace has no allocations, as it is while a trace.FlightRecorder runs",
			Remedy: "stop the flight recorder before the assertion",
		}
	case err != nil:
		return nil, &refscan.UnavailableError{
			Cause:  "the execution trace cannot be read",
			Remedy: "use a Go version that this version of leakgate knows",
			Err:    err,
		}
	}
	return &recording{calls: calls, classes: classes, rows: rowsOf(counts, classes), unsized: counts.UnsizedObjects, collected: collected}, nil
}
