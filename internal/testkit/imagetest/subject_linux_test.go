package imagetest_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/pathfind"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/gstate"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// subject is the recorded program.
type subject struct{ *imagetest.Program }

func record(tb testing.TB) *subject { return &subject{imagetest.Record(tb)} }

func (s *subject) load() (*goruntime.Model, error) { return s.Load(s) }

// program is the recorded program: none of its packages belongs to this tool.
var program = root.Program{}

// outcome is the result of a scan.
type outcome struct {
	model *goruntime.Model
	res   *attribute.Result
	err   error
}

// scan does the same as refscan: load the model, build the graph, attribute, look for paths to an
// object.
func (s *subject) scan() (o outcome) {
	if o.model, o.err = s.load(); o.err != nil {
		return o
	}
	g, err := typedheap.Build(o.model, s.Index, typedheap.Options{})
	if err != nil {
		o.err = err
		return o
	}
	o.res = attribute.Run(g, program, attribute.Options{Charged: func(*attribute.Node, uint32, int64, int64) {}})
	if o.err = goruntime.AllocationRecords(o.model, func(_ uint32, bucket uint64) { _, _ = goruntime.AllocationStack(o.model, bucket) }); o.err != nil {
		return o
	}
	if chain, ok := s.Index.GlobalByName("main.chain"); ok {
		addr := s.U64(chain.Addr)
		f := pathfind.New(g, program, nil)
		defer f.Release()
		_, _ = f.Paths(addr, 3)
		_, _, _ = f.Retained(addr)
	}
	return o
}

// stacks does the same as refscan's account of stacks.
func (s *subject) stacks() (err error) {
	m, err := goruntime.LoadStacks(image.NewSpace(s), s.Index, 0, runtime.GOARCH, s.Caller())
	if err != nil {
		return err
	}
	var errs []error
	states, err := gstate.NewStates(m)
	if err != nil {
		return err
	}
	var labels []uint64
	for _, g := range m.Goroutines {
		st := states.Of(g)
		labels = append(labels, st.Labels)
		var callee *goruntime.Func
		errs = append(errs, m.Frames(g, func(f *goruntime.Frame) error {
			m.Calls(f.Func, f.CallPC(callee))
			callee = f.Func
			return nil
		}))
		m.Creator(g)
		m.Entry(g)
	}
	gstate.LabelSets(m, labels)
	_, err = gstate.ReadStackMemory(m)
	return errors.Join(append(errs, err)...)
}

// TestSound checks the recording itself: without damage the audit is clean.
func TestSound(t *testing.T) {
	s := record(t)
	var o outcome
	require.NoError(t, s.Bounded(func() { o = s.scan() }))
	require.NoError(t, o.err)
	tot := o.res.Totals
	t.Logf("%+v, %d copies of %d KB, %d regions", tot, s.Copies, s.Bytes>>10, len(s.Regions()))
	require.Positive(t, tot.LiveObjects)
	require.Zero(t, tot.ExtraBytes)
	require.Less(t, tot.MissedBytes, int64(4<<10), "caches of processors that were taken away")
	require.Less(t, s.Copies, imagetest.MaxCopies/10)
	require.NoError(t, s.stacks())
}

func BenchmarkScan(b *testing.B) {
	s := record(b)
	b.ReportAllocs()
	for b.Loop() {
		s.scan()
	}
}
