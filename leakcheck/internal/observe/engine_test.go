package observe

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/refscan"
)

// A frozen is a handmade snapshot, which notes what is read of it.
type frozen struct {
	report *refscan.Report
	fails  string // what fails
	read   []string
	order  *refscan.Order
	freed  map[string]nativeholders.Sum
	native nativeholders.Result
}

func (f *frozen) note(what string) error {
	f.read = append(f.read, what)
	if what == f.fails {
		return errors.New(what + " failed")
	}
	return nil
}

func (f *frozen) Scan(opts ...refscan.ScanOption) (*refscan.Report, error) {
	return f.report, f.note(fmt.Sprintf("scan %d", len(opts)))
}

func (f *frozen) Stacks() (*refscan.Stacks, error) {
	return &refscan.Stacks{GoVersion: "go1.26.8", Pause: 7, Warnings: []string{"cut"}}, f.note("stacks")
}

func (f *frozen) LeakedGoroutines() ([]*refscan.LeakedGoroutine, error) {
	return make([]*refscan.LeakedGoroutine, 1), f.note("leaked")
}

func (f *frozen) Inventory() *debuginfo.Inventory {
	return &debuginfo.Inventory{Index: symindex.New(&symindex.Program{})}
}

func (f *frozen) Arrange(o *refscan.Order) { f.order = o }

func (f *frozen) Held(queries ...refscan.Query) (all []*refscan.Held, err error) {
	for _, q := range queries {
		of := q("example.com/app.a", nil)
		all = append(all, &refscan.Held{Nearer: fmt.Sprint(of)})
	}
	return all, f.note("held")
}

func (f *frozen) Elsewhere(of refscan.Query, is func(path, typ string) bool) (*refscan.Elsewhere, error) {
	err := f.note("elsewhere")
	switch {
	case is("gopkg.in/yaml%2ev3.cache", "*gopkg.in/yaml%2ev3.node"):
		return &refscan.Elsewhere{Objects: 3}, err
	case is("of a query", "T") && of != nil:
		return &refscan.Elsewhere{Objects: 4}, err
	}
	return nil, err
}

func (f *frozen) ReadContent(*ContentQuery) error { return f.note("content") }

func (f *frozen) NativeHolders(func(nativeheap.Block) bool) (*nativeholders.Result, error) {
	return &f.native, f.note("holders")
}

func (f *frozen) NativeFreed(keys []string, asObjects bool) (nativeholders.Sum, error) {
	return f.freed[strings.Join(keys, ",")], f.note(fmt.Sprintf("freed %v %v", keys, asObjects))
}

func (f *frozen) Settled() time.Duration  { return 3 }
func (f *frozen) FrozenAt() time.Duration { return 4 }
func (f *frozen) Detach() error           { return f.note("detach") }
func (f *frozen) Close() error            { return f.note("close") }

// engine returns an engine that takes a snapshot, and notes how it is configured.
func (f *frozen) engine() (*Engine, *snapshot.Config) {
	c := snapshot.Default()
	return &Engine{Elsewhere: true, Capture: func(opts ...refscan.CaptureOption) (Frozen, error) {
		for _, o := range opts {
			o.Configure(&c)
		}
		c.Logf("slow %s", "step")
		return f, f.note("capture")
	}}, &c
}

func selects(m refscan.Match) *refscan.Query {
	q := refscan.Query(func(string, *refscan.RootInfo) refscan.Match { return m })
	return &q
}

// What is needed is read of a snapshot, each thing once. The snapshot is closed, whatever fails.
func TestObserve(t *testing.T) {
	held := func() []*Held { return []*Held{{Query: selects(refscan.Selected)}, {Query: selects(refscan.Before)}} }
	for name, c := range map[string]struct {
		needs Needs
		fails string
		read  []string
		err   string
	}{
		"stacks":          {Needs{Stacks: true}, "", []string{"capture", "stacks", "close"}, ""},
		"no stacks":       {Needs{Stacks: true}, "stacks", []string{"capture", "stacks", "close"}, "stacks failed"},
		"leaked":          {Needs{Leaked: true}, "", []string{"capture", "leaked", "close"}, ""},
		"no leaked":       {Needs{Leaked: true, Heap: true}, "leaked", []string{"capture", "leaked", "close"}, "leaked failed"},
		"heap":            {Needs{Heap: true}, "", []string{"capture", "scan 1", "close"}, ""},
		"no heap":         {Needs{Heap: true, Held: held()}, "scan 1", []string{"capture", "scan 1", "close"}, "scan 1 failed"},
		"all":             {Needs{Heap: true, Stacks: true, Leaked: true, Held: held(), Content: &ContentQuery{}}, "", []string{"capture", "stacks", "leaked", "scan 1", "held", "content", "close"}, ""},
		"no content":      {Needs{Heap: true, Content: &ContentQuery{}}, "content", []string{"capture", "scan 1", "content", "close"}, ""},
		"no held":         {Needs{Heap: true, Held: held()}, "held", []string{"capture", "scan 1", "held", "close"}, "held failed"},
		"retained":        {Needs{Heap: true, Retained: true}, "", []string{"capture", "scan 2", "close"}, "what is retained by what is too complex to be told apart"},
		"kept":            {Needs{Heap: true, Keep: true}, "", []string{"capture", "scan 1", "detach"}, ""},
		"not to be kept":  {Needs{Heap: true, Keep: true}, "detach", []string{"capture", "scan 1", "detach"}, "detach failed"},
		"kept, but fails": {Needs{Heap: true, Keep: true}, "scan 1", []string{"capture", "scan 1", "close"}, "scan 1 failed"},
		"not closed":      {Needs{Heap: true}, "close", []string{"capture", "scan 1", "close"}, "close failed"},
		"no snapshot":     {Needs{Heap: true}, "capture", []string{"capture"}, "capture failed"},
		"nothing":         {Needs{Resources: true, Collect: true}, "", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &frozen{report: &refscan.Report{Roots: []*refscan.Node{{Name: "example.com/app.a"}}}, fails: c.fails}
			e, config := f.engine()
			o, err := e.Observe(t.Context(), c.needs)
			assert.Equal(t, c.read, f.read)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				assert.Nil(t, o)
				return
			}
			require.NoError(t, err)
			if c.read == nil {
				assert.True(t, o.Report.GoVersion != "" && o.Stacks == nil && o.Names == nil)
				return
			}
			assert.Equal(t, []any{time.Duration(3), time.Duration(4), []string{"slow step"}}, []any{o.Settle, o.Frozen, o.Logs})
			assert.Equal(t, c.needs.Heap, o.Report == f.report)
			assert.Equal(t, c.needs.Heap, o.Names != nil)
			assert.Equal(t, c.needs.Stacks, o.Stacks != nil)
			assert.Equal(t, c.needs.Leaked, len(o.Leaked) == 1)
			assert.Equal(t, c.needs.Keep, o.Kept != nil)
			assert.True(t, config.Settle)
			if c.needs.Heap {
				assert.Equal(t, []string{"example.com/app.a"}, o.Names.RootNames())
			} else if c.needs.Stacks {
				assert.Equal(t, []any{"go1.26.8", time.Duration(7), []string{"cut"}}, []any{o.Report.GoVersion, o.Report.Pause, o.Report.Warnings})
			}
			for i, h := range c.needs.Held {
				assert.Equal(t, fmt.Sprint([]refscan.Match{refscan.Selected, refscan.Before}[i]), h.Result.Nearer, "each query has its own answer")
				assert.Nil(t, h.Before)
			}
		})
	}
}

// A capture is told what the reader needs.
func TestCaptureOptions(t *testing.T) {
	f := &frozen{report: &refscan.Report{}}
	e, config := f.engine()
	order := &refscan.Order{TestsLast: true}
	_, err := e.Observe(t.Context(), Needs{Heap: true, AsIs: true, Order: order, Held: []*Held{{Query: selects(refscan.Selected)}}})
	require.NoError(t, err)
	assert.False(t, config.Settle)
	assert.Equal(t, t.Context(), config.Context)
	assert.Same(t, order, f.order)
}

// Other holders are found by path and type as people write them. A place without any has no entry,
// nor has one of which they cannot be found.
func TestAlsoHeld(t *testing.T) {
	f := &frozen{report: &refscan.Report{}}
	e, _ := f.engine()
	there := Place{Path: "gopkg.in/yaml.v3.cache", Typ: "*gopkg.in/yaml.v3.node"}
	ofQuery := Place{Path: "of a query", Typ: "T", Of: selects(refscan.Selected)}
	n := Needs{Heap: true, AlsoHeldBy: []Place{there, {Path: there.Path, Typ: "T"}, ofQuery, {Path: "of a query", Typ: "T"}}}
	o, err := e.Observe(t.Context(), n)
	require.NoError(t, err)
	assert.Equal(t, map[Place]*refscan.Elsewhere{there: {Objects: 3}, ofQuery: {Objects: 4}}, o.AlsoHeld)
	f.fails = "elsewhere"
	o, err = e.Observe(t.Context(), n)
	require.NoError(t, err)
	assert.Empty(t, o.AlsoHeld)
}

// A kept snapshot is scanned again in another order, and answers for what was held before.
func TestRecall(t *testing.T) {
	f := &frozen{report: &refscan.Report{}}
	order := &refscan.Order{PackagesFirst: true}
	h := &Held{Query: selects(refscan.Selected)}
	r, err := Recall(f, Needs{Order: order, Held: []*Held{h}})
	require.NoError(t, err)
	assert.Same(t, f.report, r)
	assert.Same(t, order, f.order)
	assert.Equal(t, fmt.Sprint(refscan.Selected), h.Before.Nearer)
	assert.Nil(t, h.Result)
	f.fails = "scan 0"
	_, err = Recall(f, Needs{Held: []*Held{h}})
	require.ErrorContains(t, err, "scan 0 failed")
	assert.Equal(t, []string{"scan 0", "held", "scan 0"}, f.read)
}

// A cut that counts native blocks asks for each node by itself, or for all at once; nodes that lead
// to none are not asked for. Too many nodes take too long.
func TestCut(t *testing.T) {
	keys := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint("k", i))
		}
		return all
	}
	sum := func(n int64) nativeholders.Sum { return nativeholders.Sum{Blocks: n, Bytes: 10 * n} }
	freed := map[string]nativeholders.Sum{"k0": sum(1), "k1": sum(2), "k0,k1": sum(7)}
	nodes := func(*refscan.Report) []*refscan.Node { return nil }
	for name, c := range map[string]struct {
		keys   []string
		nodes  func(*refscan.Report) []*refscan.Node
		native *native.Answer
		fails  string
		want   []nativeholders.Sum
		read   int
		err    string
	}{
		"each":         {keys(2), nil, nil, "", []nativeholders.Sum{sum(1), sum(2)}, 2, ""},
		"all at once":  {keys(2), nodes, nil, "", []nativeholders.Sum{sum(7)}, 1, ""},
		"none":         {nil, nil, nil, "", nil, 0, ""},
		"one of two":   {[]string{"", "k1"}, nil, nil, "", []nativeholders.Sum{{}, sum(2)}, 1, ""},
		"an error":     {keys(2), nil, nil, "freed [k0] false", []nativeholders.Sum{sum(1)}, 1, "freed [k0] false failed"},
		"not known":    {keys(2), nil, &native.Answer{Err: assert.AnError}, "", nil, 0, assert.AnError.Error()},
		"too many":     {keys(33), nil, nil, "", append([]nativeholders.Sum{sum(1), sum(2)}, make([]nativeholders.Sum, 30)...), 32, "more than 32 paths takes too long"},
		"just as many": {append(keys(32), "", ""), nil, nil, "", append([]nativeholders.Sum{sum(1), sum(2)}, make([]nativeholders.Sum, 32)...), 32, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &frozen{fails: c.fails, freed: freed}
			cut := &Cut{Nodes: c.nodes, Keys: func(*refscan.Report) []string { return c.keys }, Native: []nativeholders.Sum{sum(9)}, Err: assert.AnError}
			cut.readNative(f, &Observation{Report: &refscan.Report{}, Native: c.native})
			assert.Equal(t, c.want, cut.Native)
			assert.Len(t, f.read, c.read)
			if c.err == "" {
				require.NoError(t, cut.Err)
			} else {
				require.ErrorContains(t, cut.Err, c.err)
			}
		})
	}
}

// Who holds native memory is not known if it could not be counted, or if a part of memory was not
// read. What was found stays.
func TestNativeHolders(t *testing.T) {
	for name, c := range map[string]struct {
		cannot error
		fails  string
		found  nativeholders.Result
		read   int
		err    string // "": they are known
		remedy string
	}{
		"known":       {nil, "", nativeholders.Result{InC: true}, 1, "", ""},
		"not counted": {nativeheap.ErrFlux, "", nativeholders.Result{}, 0, nativeheap.ErrFlux.Error(), "leave out NativeMemory, or WithNative"},
		"with a way":  {&nativeheap.UnknownError{Cause: "another malloc", Remedy: "link glibc"}, "", nativeholders.Result{}, 0, "another malloc", "link glibc"},
		"hidden":      {nil, "", nativeholders.Result{Hidden: 1}, 1, "not all memory could be read, or told from large blocks", "leave out NativeMemory, or WithNative"},
		"unread":      {nil, "", nativeholders.Result{Unread: "a mapping"}, 1, "not all memory could be read, or told from large blocks", "leave out NativeMemory, or WithNative"},
		"no search":   {nil, "holders", nativeholders.Result{}, 1, "holders failed", "leave out NativeMemory, or WithNative"},
	} {
		f := &frozen{fails: c.fails, native: c.found}
		o := &Observation{Report: &refscan.Report{}}
		o.readNative(f, c.cannot)
		assert.Len(t, f.read, c.read, name)
		assert.Equal(t, c.cannot == nil, o.Native.Found == &f.native, name)
		if c.err == "" {
			assert.NoError(t, o.Native.Err, name)
			continue
		}
		assert.Equal(t, &refscan.UnavailableError{Cause: "who holds native memory cannot be told: " + c.err, Remedy: c.remedy}, o.Native.Err, name)
	}
}

// If the holders are not known, the report with native blocks has a warning, and the original
// report has none.
func TestNativeUnknown(t *testing.T) {
	r := &refscan.Report{}
	o := &Observation{Report: r}
	require.True(t, o.Native.In(r) == r)
	o.readNative(nil, nativeheap.ErrNone)
	require.Nil(t, o.Native)
	o.readNative(nil, &nativeheap.UnknownError{Cause: "it is another malloc", Remedy: "none"})
	require.Len(t, o.Native.In(r).Warnings, 1)
	require.Contains(t, o.Native.In(r).Warnings[0], "who holds native memory cannot be told: it is another malloc")
	require.Empty(t, r.Warnings)
}

// Sets of nodes that are cut at once are chosen from the report.
func TestCutsAreScannedFor(t *testing.T) {
	f := &frozen{report: &refscan.Report{Retained: true}}
	e, _ := f.engine()
	o, err := e.Observe(t.Context(), Needs{Heap: true, Retained: true, Cuts: []*Cut{{}}})
	require.NoError(t, err)
	assert.Same(t, f.report, o.Report)
	assert.Equal(t, []string{"capture", "scan 2", "close"}, f.read)
}

// The needs of two checks are those of both, whichever comes first.
func TestAnd(t *testing.T) {
	var all Needs
	v := reflect.ValueOf(&all).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 2))
			if of := f.Type().Elem(); of.Kind() == reflect.Pointer {
				f.Index(0).Set(reflect.New(of.Elem()))
			}
		default:
			f.Set(reflect.New(f.Type().Elem()))
		}
	}
	for _, both := range []Needs{all.And(Needs{}), (Needs{}).And(all)} {
		assert.True(t, reflect.DeepEqual(all, both), "%+v", both)
	}
	all.AlsoHeldBy[0].Path = "p"
	double := all.And(all)
	assert.Equal(t, []int{2, 2, 2}, []int{len(double.Cuts), len(double.AlsoHeldBy), len(double.Held)})
	assert.True(t, all.Cuts[:2][1] == nil && all.AlsoHeldBy[:2][1] == Place{} && all.Held[:2][1] == nil, "the others stay as they are")
}

// Artifacts are kept if a heap profile was taken.
func TestArtifacts(t *testing.T) {
	r := &refscan.Report{}
	assert.Equal(t, Artifacts{}, (&Observation{Report: r}).Artifacts())
	assert.Equal(t, Artifacts{"profile", r}, (&Observation{Report: r, Heap: "profile"}).Artifacts())
}

// Any goroutine may log.
func TestLogger(t *testing.T) {
	var l Logger
	assert.Empty(t, l.Lines())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			l.Log("%d of %d", i, 8)
		}()
	}
	wg.Wait()
	lines := l.Lines()
	slices.Sort(lines)
	assert.Equal(t, "0 of 8,1 of 8,2 of 8,3 of 8,4 of 8,5 of 8,6 of 8,7 of 8", strings.Join(lines, ","))
}

// Errors of the engine are those that callers know.
func TestPublic(t *testing.T) {
	var unavailable *refscan.UnavailableError
	require.ErrorAs(t, public(&snapshot.Unavailable{Cause: "no fork", Remedy: "allow it"}), &unavailable)
	assert.Equal(t, "allow it", unavailable.Remedy)
	assert.Equal(t, context.Canceled, public(context.Canceled))
	assert.NoError(t, public(nil))
}
