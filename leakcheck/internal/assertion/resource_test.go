package assertion

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// most bounds a kind of resource.
func most(k ledger.Kind, limit int64) func(*request.Request) {
	return func(r *request.Request) {
		r.LimitResources(request.ResourceOption{Shown: k.String(), Written: k.String() + " at most", Kind: k, Limit: limit})
	}
}

func items(k ledger.Kind, name string, n int) (all []ledger.Item) {
	for range n {
		all = append(all, ledger.Item{Kind: k, Names: [ledger.Levels]string{name, name, name}, Size: 1})
	}
	return all
}

// What cannot be listed makes a bound on it unknown, and the remedy is that of the cause.
func TestResources(t *testing.T) {
	noThreads := &ledger.Ledger{Items: items(ledger.Descriptor, "pipe", 3), Missing: []ledger.Unread{{Kind: ledger.Process, Err: errors.New("no /proc/self/task")}}}
	cannot := &os.PathError{Op: "open", Path: "/proc/self/stat", Err: syscall.EMFILE}
	for name, c := range map[string]struct {
		ledger  *ledger.Ledger
		err     error
		options []func(*request.Request)
		verdict verdict.Verdict
		says    []string
	}{
		"as many":              {noThreads, nil, []func(*request.Request){most(ledger.Descriptor, 3)}, verdict.Pass, nil},
		"one more":             {noThreads, nil, []func(*request.Request){most(ledger.Descriptor, 2)}, verdict.Fail, nil},
		"not listed":           {noThreads, nil, []func(*request.Request){most(ledger.Process, 9)}, verdict.Unknown, []string{"what the operating system holds for the process cannot be listed: child processes: no /proc/self/task", "remedy: mount /proc, or leave out Files, Threads and Processes"}},
		"nothing listed":       {nil, cannot, []func(*request.Request){most(ledger.Descriptor, 3)}, verdict.Unknown, []string{"cannot be listed: open /proc/self/stat", "raise ulimit -n"}},
		"no list before":       {noThreads, nil, []func(*request.Request){most(ledger.Descriptor, 3), since(&request.Baseline{})}, verdict.Unknown, []string{"there was no list when the baseline was taken"}},
		"since":                {noThreads, nil, []func(*request.Request){most(ledger.Descriptor, 0), since(&request.Baseline{Resources: noThreads})}, verdict.Pass, nil},
		"native, not looked":   {noThreads, nil, []func(*request.Request){most(ledger.Native, 3)}, verdict.Unknown, []string{"native memory cannot be counted: it is not looked at", "remedy: leave out NativeMemory"}},
		"neither native heaps": {noThreads, nil, []func(*request.Request){most(ledger.Descriptor, 3), most(ledger.NativeBytes, 3)}, verdict.Unknown, []string{"it is not looked at"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Resources = func(string) (*ledger.Ledger, error) { return c.ledger, c.err }
			o := w.begin(&fakeT{name: "TestX"}, c.options...).Judge()
			assert.Equal(t, c.verdict, o.Verdict, o.Message)
			for _, text := range c.says {
				assert.Contains(t, o.Message, text)
			}
			assert.False(t, w.asked[0].Heap, "no heap is scanned")
		})
	}
	w := newWorld(t)
	o := w.begin(&fakeT{}, most(ledger.Descriptor, 3)).Judge()
	assert.Equal(t, verdict.Unknown, o.Verdict, "this process does not list them")
}

// Native memory is counted where a bound is on it. A program without a C library has none.
func TestNativeMemory(t *testing.T) {
	heap := &nativeheap.Heap{Blocks: 3, Bytes: 144, Sizes: map[int64]int64{48: 3}}
	none := &ledger.Ledger{}
	for name, c := range map[string]struct {
		heap     *nativeheap.Heap
		err      error
		baseline *request.Baseline
		limit    int64
		verdict  verdict.Verdict
		says     string
	}{
		"as many":             {heap, nil, nil, 3, verdict.Pass, ""},
		"one more":            {heap, nil, nil, 2, verdict.Fail, ""},
		"no C library":        {nil, nativeheap.ErrNone, nil, 0, verdict.Pass, ""},
		"another malloc":      {nil, &nativeheap.UnknownError{Cause: "it is another malloc", Remedy: "link glibc"}, nil, 3, verdict.Unknown, "native memory cannot be counted: it is another malloc\n    remedy: link glibc"},
		"another error":       {nil, nativeheap.ErrFlux, nil, 3, verdict.Unknown, nativeheap.ErrFlux.Error() + "\n    remedy: leave out NativeMemory"},
		"since":               {heap, nil, &request.Baseline{Resources: none, Native: &nativeheap.Heap{Blocks: 2, Bytes: 96, Sizes: map[int64]int64{48: 2}}}, 1, verdict.Pass, ""},
		"one more since":      {heap, nil, &request.Baseline{Resources: none, Native: &nativeheap.Heap{}}, 2, verdict.Fail, ""},
		"not counted before":  {heap, nil, &request.Baseline{Resources: none}, 3, verdict.Unknown, "native memory was not counted when the baseline was taken"},
		"unknown before, why": {heap, nil, &request.Baseline{Resources: none, NativeErr: errors.New("it was in flux")}, 3, verdict.Unknown, "cause:  it was in flux"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Resources = func(string) (*ledger.Ledger, error) { return &ledger.Ledger{}, nil }
			w.Native.Take = func() (*nativeheap.Heap, error) { return c.heap, c.err }
			o := w.begin(&fakeT{name: "TestX"}, most(ledger.Native, c.limit), since(c.baseline)).Judge()
			assert.Equal(t, c.verdict, o.Verdict, o.Message)
			assert.Contains(t, o.Message, c.says)
		})
	}
}

// A message about native memory says who holds it, also if that is not known.
func TestNativeDetails(t *testing.T) {
	heap := &nativeheap.Heap{Blocks: 3, Bytes: 144, Sizes: map[int64]int64{48: 3}}
	w := newWorld(t)
	w.Resources = func(string) (*ledger.Ledger, error) { return &ledger.Ledger{}, nil }
	w.Native.Take = func() (*nativeheap.Heap, error) { return heap, nil }
	sum := nativeholders.Sum{Blocks: 3, Bytes: 144}
	found := &nativeholders.Result{Holders: []nativeholders.Holder{{Name: "example.com/app.cache", Sum: sum}}, All: sum}
	var err error
	w.Native.Holders = func(_ context.Context, is func(nativeheap.Block) bool) (*nativeholders.Result, error) {
		assert.True(t, is(nativeheap.Block{Size: 48}))
		return found, err
	}
	ft, ok := w.assert(most(ledger.Native, 0))
	assert.False(t, ok)
	assert.Contains(t, ft.errorText(), "held by example.com/app.cache -> 3 native blocks (144 B)\n")
	ft, _ = w.assert(most(ledger.Native, 0), since(&request.Baseline{Resources: &ledger.Ledger{}, Native: &nativeheap.Heap{}}))
	assert.Contains(t, ft.errorText(), "of all 3 native blocks of these sizes:\n")
	err = errors.New("no debug information")
	ft, _ = w.assert(most(ledger.Native, 0))
	assert.Contains(t, ft.errorText(), "could not tell who holds them: no debug information")

	// The artifacts get a scan of their own, since none was needed to tell.
	w.records(t)
	w.reports = []*refscan.Report{sessions(7)}
	w.assert(most(ledger.Native, 0))
	last := w.asked[len(w.asked)-1]
	assert.Equal(t, observe.Needs{Heap: true, AsIs: true, Native: true}, last)
}

// A message about retained memory says how much native memory cutting it would free.
func TestNativeFreed(t *testing.T) {
	retained := reporttest.Sessions(3)
	retained.RetainedObjects = 8
	r := reporttest.Report(retained)
	r.Retained = true
	sum, err := nativeholders.Sum{Blocks: 2, Bytes: 96}, error(nil)
	var keys []string
	message := func() string {
		w := newWorld(t, r)
		w.Native.Freed = func(_ context.Context, k []string, _ bool) (nativeholders.Sum, error) {
			keys = k
			return sum, err
		}
		limit := int64(1)
		ft, ok := w.assert(func(r *request.Request) {
			r.Limit(request.Bound{Selector: request.RootSelector("app.sessions"), Cut: request.CutLimits{Objects: &limit}})
		})
		assert.False(t, ok)
		return ft.errorText()
	}
	assert.Contains(t, message(), "; 2 native blocks, 96 B, would go with it")
	assert.Len(t, keys, 1)
	err = errors.New("in flux")
	assert.Contains(t, message(), "; native blocks that would go with it are not known: in flux")
	err, sum = nativeheap.ErrNone, nativeholders.Sum{}
	assert.NotContains(t, message(), "native block")
}

// A baseline has what later assertions compare with, or why there is none.
func TestBaseline(t *testing.T) {
	w := newWorld(t, sessions(5))
	w.Resources = func(string) (*ledger.Ledger, error) {
		return &ledger.Ledger{Items: items(ledger.Descriptor, "pipe", 3)}, nil
	}
	w.Native.Take = func() (*nativeheap.Heap, error) { return nil, nativeheap.ErrNone }
	ft := &fakeT{}
	b := w.TakeBaseline(ft, nil)
	assert.Equal(t, observe.Needs{Heap: true, Stacks: true, Keep: true}, w.asked[0])
	assert.Equal(t, []any{int64(13), sessions(5).Totals.LiveBytes, int64(3), ""}, []any{b.Forest.Total().Objects, b.Live, b.Resources.Count(ledger.Descriptor), b.Of})
	assert.True(t, b.Unknown == nil && b.NativeErr == nil && b.Native.Blocks == 0)
	assert.Empty(t, ft.logs)

	w.reports, w.snapshots = []*refscan.Report{sessions(6)}, 0
	one, ok := w.assert(atMost(3, "app.sessions"), since(b))
	assert.True(t, ok, one.errorText())
	one, ok = w.assert(atMost(2, "app.sessions"), since(b))
	assert.False(t, ok)
	assert.Contains(t, one.errorText(), "found 3 objects, 432 B: 1 object more than allowed")

	w.reports = []*refscan.Report{unsound()}
	b = w.TakeBaseline(ft, nil)
	require.Error(t, b.Unknown)
	assert.Contains(t, ft.logText(), "leakcheck: no baseline: ")
	w.err = errors.New("no fork")
	b = w.TakeBaseline(ft, nil)
	assert.Equal(t, w.err, b.Unknown)
	assert.Contains(t, ft.logText(), "leakcheck: no baseline: no fork")
}

// A kept is a snapshot of a baseline.
type kept struct {
	observe.Frozen
	report *refscan.Report
	err    error
}

func (k kept) Arrange(*refscan.Order) {}

func (k kept) Scan(...refscan.ScanOption) (*refscan.Report, error) { return k.report, k.err }

func (k kept) Held(queries ...refscan.Query) ([]*refscan.Held, error) {
	return make([]*refscan.Held, len(queries)), nil
}

// A baseline is looked at again in the order of roots of the assertion that compares with it.
func TestRecall(t *testing.T) {
	b := &request.Baseline{Snapshot: kept{report: sessions(8)}}
	for objects, passes := range map[int64]bool{2: true, 1: false} { // 23 - 21
		w := newWorld(t, sessions(9))
		ft, ok := w.assert(atMost(objects, "app.sessions"), since(b))
		assert.Equal(t, passes, ok, ft.errorText())
	}
	assert.Empty(t, b.Forest, "other assertions have other orders")
	w := newWorld(t, sessions(9))
	o := w.begin(&fakeT{}, atMost(2, "app.sessions"), since(&request.Baseline{Snapshot: kept{err: errors.New("it is closed")}})).Judge()
	assert.Equal(t, verdict.Unknown, o.Verdict)
	assert.Contains(t, o.Message, "cause:  it is closed")
	assert.Empty(t, w.asked)
}
