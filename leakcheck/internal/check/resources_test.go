package check

import (
	"fmt"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// atMost is an option about resources.
func atMost(shown string, kind ledger.Kind, limit int64) request.ResourceOption {
	return request.ResourceOption{Shown: shown + "()", Written: fmt.Sprintf("%s().Max(%d)", shown, limit), Kind: kind, Limit: limit, None: limit == 0}
}

// items are n resources of one name.
func items(kind ledger.Kind, n int, name, state string) (all []ledger.Item) {
	for range n {
		all = append(all, ledger.Item{Kind: kind, Names: [ledger.Levels]string{name}, State: state, Size: 1})
	}
	return all
}

func ledgerOf(lists ...[]ledger.Item) *ledger.Ledger {
	l := &ledger.Ledger{}
	for _, items := range lists {
		l.Items = append(l.Items, items...)
	}
	return l
}

// holding is the finding of one option about resources.
func holding(t *testing.T, o request.ResourceOption, now *ledger.Ledger, base *request.Baseline) Finding {
	t.Helper()
	r := &request.Request{Baseline: base}
	r.LimitResources(o)
	require.Empty(t, r.Calls.Problems)
	e := Evaluate(&observe.Observation{Report: &refscan.Report{}, Resources: now}, r, tree.Scope{}, []Check{NewResourceCheck(r)})
	require.Len(t, e.Findings, 1)
	return e.Findings[0]
}

// A bound on resources counts them, in words that fit the kind, and lists them by name.
func TestResourceBounds(t *testing.T) {
	sockets := items(ledger.Descriptor, 3, "socket to 127.0.0.1:5432", "ESTABLISHED")
	file := items(ledger.Descriptor, 1, "/tmp/x", "")
	l := ledgerOf(file, sockets, items(ledger.Process, 1, "sleep", "running"), items(ledger.Thread, 7, "threads", ""))
	l.AddNative(&nativeheap.Heap{Blocks: 5, Bytes: 2000, Sizes: map[int64]int64{48: 3, 96: 1}, Mapped: 1})
	for _, tt := range []struct {
		option request.ResourceOption
		broken bool
		amount string
		detail []string
	}{
		{atMost("Files", ledger.Descriptor, 4), false, "found 4 descriptors", []string{"       3  socket to 127.0.0.1:5432 (ESTABLISHED)", "       1  /tmp/x"}},
		{atMost("Files", ledger.Descriptor, 3), true, "found 4 descriptors: 1 more than allowed", []string{"       3  socket to 127.0.0.1:5432 (ESTABLISHED)", "       1  /tmp/x"}},
		{atMost("Files", ledger.Descriptor, 0), true, "found 4 descriptors", []string{"       3  socket to 127.0.0.1:5432 (ESTABLISHED)", "       1  /tmp/x"}},
		{atMost("Processes", ledger.Process, 0), true, "found 1 child process", []string{"       1  sleep (running)"}},
		{atMost("Threads", ledger.Thread, 5), true, "found 7 threads: 2 more than allowed", []string{"       7  threads"}},
		{atMost("NativeMemory", ledger.Native, 4), true, "found 5 native blocks: 1 more than allowed", []string{"       3  blocks of 48 bytes", "       1  blocks of 96 bytes", "       1  blocks with a mapping each"}},
		{atMost("NativeMemory", ledger.NativeBytes, 500), true, "found 2.0 KiB of native memory: 1.5 KiB more than allowed", []string{"       3  blocks of 48 bytes", "       1  blocks of 96 bytes", "       1  blocks with a mapping each"}},
		{atMost("NativeMemory", ledger.NativeBytes, 2000), false, "found 2.0 KiB of native memory", []string{"       3  blocks of 48 bytes", "       1  blocks of 96 bytes", "       1  blocks with a mapping each"}},
	} {
		f := holding(t, tt.option, l, nil)
		shown := tt.option.Written
		assert.Equal(t, shown, f.Shown)
		assert.Equal(t, tt.broken, f.Broken, shown)
		assert.Equal(t, tt.amount, f.Amount, shown)
		assert.Equal(t, tt.detail, f.Detail, shown)
		assert.Equal(t, tt.option.Kind.OfMalloc(), f.Blocks != nil, shown)
		assert.Equal(t, tt.option.Kind.InBytes(), f.Record.MaxBytes != nil, shown)
		assert.Equal(t, !tt.option.Kind.InBytes(), f.Record.MaxObjects != nil, shown)
	}
	assert.Equal(t, "found 2 child processes", holding(t, atMost("Processes", ledger.Process, 2), ledgerOf(items(ledger.Process, 2, "sleep", "")), nil).Amount)

	limit := int64(3)
	assert.Equal(t, verdict.Bound{
		Kind: verdict.Resources, Selector: "Files()", MaxObjects: &limit, Objects: 4, Path: "socket to 127.0.0.1:5432", Type: "descriptor",
		Resources: []verdict.Resource{{Kind: "descriptor", Name: "socket to 127.0.0.1:5432", State: "ESTABLISHED", Added: 3}, {Kind: "descriptor", Name: "/tmp/x", Added: 1}},
	}, holding(t, atMost("Files", ledger.Descriptor, 3), l, nil).Record)
	assert.Equal(t, int64(2000), holding(t, atMost("NativeMemory", ledger.NativeBytes, 9), l, nil).Record.Bytes)
	assert.True(t, holding(t, atMost("NativeMemory", ledger.Native, 9), l, nil).Blocks(nativeheap.Block{Size: 80}), "without a baseline all blocks count")
}

// A message has ten names at most, a record has more of them.
func TestManyNames(t *testing.T) {
	l := &ledger.Ledger{}
	for i := range 60 {
		l.Items = append(l.Items, items(ledger.Descriptor, 60-i, fmt.Sprintf("/tmp/%d", i), "")...)
	}
	f := holding(t, atMost("Files", ledger.Descriptor, 0), l, nil)
	require.Len(t, f.Detail, 11)
	assert.Equal(t, "      51  /tmp/9", f.Detail[9])
	assert.Equal(t, "   … and 50 names more", f.Detail[10])
	assert.Len(t, f.Record.Resources, verdict.MaxBroken)
	l.Items = l.Items[:60+59+58+57+56+55+54+53+52+51]
	assert.Len(t, holding(t, atMost("Files", ledger.Descriptor, 0), l, nil).Detail, 10)
}

// With a baseline only what is new counts and is listed.
func TestResourcesSince(t *testing.T) {
	base := &request.Baseline{
		Resources: ledgerOf(items(ledger.Descriptor, 3, "socket", ""), items(ledger.Descriptor, 2, "/tmp/x", "")),
		Native:    &nativeheap.Heap{Blocks: 4, Bytes: 400, Sizes: map[int64]int64{48: 3, 96: 1}},
	}
	now := ledgerOf(items(ledger.Descriptor, 5, "socket", ""), items(ledger.Descriptor, 2, "/tmp/x", ""))
	now.AddNative(&nativeheap.Heap{Blocks: 6, Bytes: 592, Sizes: map[int64]int64{48: 3, 96: 3}})
	f := holding(t, atMost("Files", ledger.Descriptor, 1), now, base)
	assert.Equal(t, "found 2 descriptors beyond the baseline: 1 more than allowed", f.Amount)
	assert.Equal(t, []string{"       2  socket"}, f.Detail)
	f = holding(t, atMost("NativeMemory", ledger.Native, 0), now, base)
	assert.Equal(t, "found 2 native blocks beyond the baseline", f.Amount)
	assert.Equal(t, []string{"       2  blocks of 96 bytes"}, f.Detail)
	assert.True(t, f.Blocks(nativeheap.Block{Size: 96}))
	assert.False(t, f.Blocks(nativeheap.Block{Size: 48}), "there are no more of these")
	f = holding(t, atMost("NativeMemory", ledger.NativeBytes, 100), now, base)
	assert.Equal(t, "found 192 B of native memory beyond the baseline: 92 B more than allowed", f.Amount)
	f = holding(t, atMost("Files", ledger.Descriptor, 0), ledgerOf(items(ledger.Descriptor, 1, "socket", "")), base)
	assert.Equal(t, "found 0 descriptors beyond the baseline", f.Amount)
	assert.False(t, f.Broken)
	assert.Empty(t, f.Record.Path)
}

// What goes together with options about resources, and what a snapshot is to have.
func TestResourceOptions(t *testing.T) {
	problems := func(change func(*request.Request), o request.ResourceOption) []string {
		r := &request.Request{}
		r.LimitResources(o)
		change(r)
		return NewResourceCheck(r).Problems(r)
	}
	nothing := func(*request.Request) {}
	since := func(r *request.Request) { r.Baseline = &request.Baseline{} }
	threads := request.ResourceOption{Shown: "Threads()", Written: "Threads().None()", Kind: ledger.Thread, None: true}
	assert.Equal(t, []string{"Threads().None(): every process has threads; give Max, or Since"}, problems(nothing, threads))
	assert.Empty(t, problems(since, threads))
	assert.Empty(t, problems(nothing, atMost("Threads", ledger.Thread, 5)))
	assert.Empty(t, problems(nothing, atMost("Files", ledger.Descriptor, 0)))
	const noEffect = "Scope and Ignore have no effect on descriptors, threads, processes and native memory"
	ignore := func(r *request.Request) { r.Ignore("app.cache", "it may") }
	assert.Equal(t, []string{noEffect}, problems(ignore, atMost("Files", ledger.Descriptor, 0)))
	assert.Empty(t, problems(func(r *request.Request) {
		ignore(r)
		r.Limit(request.Bound{Selector: ofSessions, MaxObjects: ref(1)})
	}, atMost("Files", ledger.Descriptor, 0)))
	assert.Equal(t, observe.Needs{Resources: true}, NewResourceCheck(&request.Request{}).Needs())
}
