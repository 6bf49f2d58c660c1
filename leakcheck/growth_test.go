package leakcheck

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth"
	"github.com/leakgate/leakgate/refscan"
)

// growth runs AssertNoGrowth in the world. calls is how often it called its op. goroutinesAt has
// the goroutines at each snapshot.
func (w *world) growth(goroutinesAt []map[goroutine.Origin]goroutine.Pile, opts ...GrowthOption) (t *fakeT, ok bool, calls int) {
	t = &fakeT{name: "TestLogout"}
	count := func(func(string) bool) map[goroutine.Origin]goroutine.Pile {
		if goroutinesAt == nil {
			return map[goroutine.Origin]goroutine.Pile{}
		}
		return goroutinesAt[min(w.snapshots-1, len(goroutinesAt)-1)]
	}
	op := func() { calls++ }
	ok = growth.AssertNoGrowth(w.Checker, t, environ.Site{File: "/src/app/app_test.go", Line: 31}, op, newGrowthRequest(op, opts), growth.Source{Goroutines: count})
	t.end()
	return t, ok, calls
}

// journal is a slice without pointers.
func journal(bytes int64) *refscan.Node {
	return global(node("example.com/app.journal", "[]int", 1, bytes), "/src/app/journal.go", 5)
}

// roomyJournal has an array with so many bytes in use.
func roomyJournal(bytes int64) *refscan.Node {
	n := journal(4096)
	n.RoomBytes = n.Bytes - bytes
	return n
}

func growing(make func(int64) *refscan.Node, figures ...int64) []*refscan.Report {
	var reports []*refscan.Report
	for _, n := range figures {
		reports = append(reports, report(make(n), global(node("example.com/app.cache", "*example.com/app.Cache", 1, 64), "", 0)))
	}
	return reports
}

var tenAndTen = []GrowthOption{Warmup(10), Iterations(10)}

func TestGrowthSeries(t *testing.T) {
	entries := func(n int64) *refscan.Node {
		return global(withElems(node("example.com/app.seen", "map[int]bool", 1, 4096, node("$mapval", "bool", n, 0)), n), "", 0)
	}
	table := func(n int64) *refscan.Node {
		return global(withElems(node("example.com/app.seen", "map[*example.com/app.Session]int", 1, 4096+16*n), n), "", 0)
	}
	tombstones := func(n int64) *refscan.Node {
		return global(withElems(node("example.com/app.seen", "map[*example.com/app.Session]int", 1, 16*n), 5), "", 0)
	}
	local := func(n int64) *refscan.Node {
		return frame(node("example.com/app.(*pool).run.p", "*example.com/app.pool", 1, 64, node("jobs", "*example.com/app.job", n, 32*n)),
			refscan.RootInfo{Func: "example.com/app.(*pool).run", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/pool.go:7"})
	}
	library := func(typ string) func(int64) *refscan.Node {
		return func(n int64) *refscan.Node {
			return global(node("net/http.DefaultTransport", "*net/http.Transport", 1, 300, node("idleConn", typ, n, 50*n)), "", 0)
		}
	}
	logger := func(n int64) *refscan.Node {
		return global(node("log.std", "*log.Logger", 1, 100, node("out", "*io.multiWriter", n, 50*n)), "", 0)
	}
	cleanups := func(n int64) *refscan.Node {
		return frame(node("testing.tRunner.t", "*testing.T", 1, 500, node("cleanups[*]", "func testing.(*common).Cleanup.func1", n, 50*n, node("f", "func example.com/app.(*Session).Close-fm", n, 16*n))),
			refscan.RootInfo{Func: "testing.tRunner", Test: true, Caller: true})
	}
	tests := []struct {
		name      string
		make      func(int64) *refscan.Node
		figures   []int64 // one for each snapshot; callsOf says after how many calls it is taken
		snapshots int
		leaks     bool
	}{
		{"one a call", sessions, []int64{10, 20, 40, 80, 160, 160}, 6, true},
		{"beside what was there", sessions, []int64{1010, 1020, 1040, 1080, 1160}, 6, true},
		{"five a call", sessions, []int64{50, 100, 200, 400, 800}, 6, true},
		{"every other call", sessions, []int64{5, 10, 20, 40, 80, 80, 100, 140, 180}, 9, true},
		{"about every fourth", sessions, []int64{3, 5, 11, 20, 42, 42, 48, 70, 92}, 9, true},
		{"entries", entries, []int64{10, 20, 40, 80, 160}, 6, true},
		{"entries without objects", table, []int64{10, 20, 40, 80, 160}, 6, true},
		{"in a goroutine", local, []int64{10, 20, 40, 80, 160}, 6, true},
		{"a type of ours at a library's root", library("*example.com/app.Session"), []int64{10, 20, 40, 80, 160}, 6, true},
		{"what a library does not add to by itself", logger, []int64{10, 20, 40, 80, 160}, 6, true},
		{"steps of bytes", journal, []int64{128, 256, 512, 1024, 2048, 2048, 2048, 4096, 4096, 4096, 8192}, 11, true},
		{"uneven steps of bytes", journal, []int64{1024, 1536, 3072, 5120, 10240, 10240, 12800, 17920, 23040}, 9, true},
		{"the i-th call leaves i", sessions, []int64{55, 210, 820, 3240, 12880, 12880, 20100, 39340, 64980}, 9, true},
		{"the i-th call leaves i, beside what was there", sessions, []int64{10055, 10210, 10820, 13240, 22880, 22880, 30100, 49340, 74980}, 9, true},
		{"the i-th call leaves i bytes", journal, []int64{1024, 4096, 16384, 65536, 262144, 262144, 409600, 802816, 1327104}, 9, true},
		{"the i-th call adds to a doubling slice", journal, []int64{512, 4096, 8192, 32768, 131072, 131072, 262144, 524288, 1048576}, 9, true},
		{"slow at first", sessions, []int64{10, 13, 20, 60, 140, 140, 180, 260, 340}, 9, true},
		{"one a call, and as many as in a batch", sessions, []int64{20, 30, 60, 120, 240, 240, 240, 344, 428, 496, 583, 653, 732, 799, 885}, 15, true},
		{"every other call, and as many as in a batch", sessions, []int64{15, 20, 40, 80, 160, 160, 140, 208, 253, 284, 331, 364, 404, 435, 482}, 15, true},
		{"few, which a few further batches do not tell", sessions, []int64{1, 2, 3, 5, 9, 9, 9, 9, 9, 25}, 10, true},

		{"nothing", sessions, []int64{100, 100}, 2, false},
		{"less", sessions, []int64{100, 90}, 3, false},
		{"a cache that fills up", sessions, []int64{10, 20, 25, 25}, 3, false},
		{"a cache that fills up at last", sessions, []int64{10, 20, 40, 80, 100}, 5, false},
		{"a logarithm", sessions, []int64{10, 20, 30, 40}, 4, false},
		{"few, by chance", sessions, []int64{10, 11, 12, 13, 14}, 5, false},
		{"a ring that starts anew", sessions, []int64{10, 20, 8, 48}, 5, false},
		{"one a call, behind what goes", sessions, []int64{60, 20, 40, 80, 160, 320}, 7, true},
		{"behind what goes twice", sessions, []int64{100, 60, 20, 60, 140, 300, 620}, 8, true},
		{"behind what goes later", sessions, []int64{100, 110, 30, 70, 150, 310, 630}, 8, true},
		{"ever less", sessions, []int64{100, 90, 80, 70, 60}, 4, false},
		{"gone after a wait", sessions, []int64{10, 20, 40, 80, 160, 20}, 6, false},
		{"as many as in the largest batch", sessions, []int64{9, 10, 20, 40, 80, 80, 40, 79, 81}, 9, false},
		{"as many bytes as in the largest batch", journal, []int64{72, 80, 160, 320, 640, 640, 640, 640, 640}, 9, false},
		{"as many objects, twice by chance", sessions, []int64{9, 10, 20, 40, 80, 80, 120, 160}, 15, false},
		{"as many, doubled by chance", journal, []int64{72, 80, 160, 320, 640, 640, 640, 1280}, 15, false},
		{"as many, doubled by chance at once", journal, []int64{72, 80, 160, 320, 640, 640, 1280}, 15, false},
		{"a pool that was never as full before", sessions, []int64{9, 10, 20, 40, 80, 80, 80, 80, 80}, 9, false},
		{"few, of which more further batches tell", sessions, []int64{1, 2, 3, 5, 9, 9, 9, 9, 9, 9}, 10, false},
		{"a buffer that is flushed", sessions, []int64{1, 2, 4, 8, 16, 16, 20, 27, 5}, 9, false},
		{"doubling once", journal, []int64{128, 256, 256}, 3, false},
		{"a logarithm of bytes", journal, []int64{1024, 2048, 3072, 4096}, 4, false},
		{"tables without entries", tombstones, []int64{10, 20, 40, 80, 160}, 2, false},
		{"bytes by chance", journal, []int64{16640, 16656, 16688, 16752, 16880}, 4, false},
		{"one late step", sessions, []int64{10, 10, 10, 10, 90}, 2, false},
		{"a late step after a few by chance", journal, []int64{16384, 16394, 16404, 16424, 40000}, 4, false},
		{"a cache that fills faster and is full", sessions, []int64{10, 30, 100, 101, 101}, 4, false},
		{"a square root", sessions, []int64{32, 45, 63, 89, 126}, 5, false},
		{"few bytes", journal, []int64{8, 16, 32, 64}, 4, false},
		{"a library's own", library("*net/http.wantConn"), []int64{10, 20, 40, 80, 160}, 2, false},
		{"the testing package's", cleanups, []int64{10, 20, 40, 80, 160}, 2, false},
	}
	for _, tt := range tests {
		w := newWorld(t, growing(tt.make, tt.figures...)...)
		ft, ok, calls := w.growth(nil, tenAndTen...)
		if ok == tt.leaks || w.snapshots != tt.snapshots {
			t.Errorf("%s: passed is %v after %d snapshots\n%s", tt.name, ok, w.snapshots, ft.errorText())
		}
		// Growth that turns out to be no leak is logged.
		last := tt.figures[min(w.snapshots, len(tt.figures))-1]
		if grew := w.snapshots > 2 && last > tt.figures[0]; !tt.leaks && grew != ft.logged("is no leak: via ") {
			t.Errorf("%s: %v", tt.name, ft.logs)
		}
		if want := callsOf(tt.figures, w.snapshots); calls != want {
			t.Errorf("%s: op was called %d times, want %d", tt.name, calls, want)
		}
	}
}

// The log says how a buffer that is flushed differs from a leak.
func TestFallInAFurtherBatch(t *testing.T) {
	w := newWorld(t, growing(sessions, 1, 2, 4, 8, 16, 16, 20, 27, 5)...)
	ft, ok, _ := w.growth(nil, tenAndTen...)
	if want := "grew, but fell in a further batch, and is no leak: via "; !ok || !ft.logged(want) {
		t.Errorf("%v, want %q\n%s", ft.logs, want, ft.errorText())
	}
}

// callsOf is how often an operation is called with tenAndTen, until so many snapshots were taken.
// Each of four batches has twice as many calls as the one before; after a fall, four more batches
// follow. The last snapshot follows a wait.
func callsOf(figures []int64, snapshots int) int {
	calls, i := 10, 1
	for batches := 0; i < snapshots && batches < 4; i++ {
		calls *= 2
		if batches++; i < len(figures) && figures[i] < figures[i-1] {
			batches = 0
		}
	}
	further := []int{40, 72, 78, 73, 80, 75, 77, 72, 79} // after a last snapshot of the same calls
	for _, n := range further[:max(0, snapshots-i-1)] {
		calls += n
	}
	return calls
}

// A figure that stops growing while another one still grows is logged, too, once the other stops.
func TestForgivenOneAfterAnother(t *testing.T) {
	other := func(n int64) *refscan.Node {
		return global(node("example.com/app.cache", "[]*example.com/app.Entry", 1, 8*n, node("[*]", "*example.com/app.Entry", n, 64*n)), "/src/app/cache.go", 3)
	}
	var reports []*refscan.Report
	for _, n := range [][2]int64{{10, 10}, {20, 20}, {25, 40}, {25, 45}} {
		reports = append(reports, report(sessions(n[0]), other(n[1])))
	}
	w := newWorld(t, reports...)
	ft, ok, _ := w.growth(nil, tenAndTen...)
	for _, part := range []string{"is no leak: via example.com/app.sessions[*]", "is no leak: via example.com/app.cache[*]"} {
		if log := strings.Join(ft.logs, "\n"); !ok || strings.Count(log, part) != 1 {
			t.Errorf("%s: passed is %v after %d snapshots\n%s\n%s", part, ok, w.snapshots, log, ft.errorText())
		}
	}
}

func TestGrowthMessage(t *testing.T) {
	w := newWorld(t, growing(sessions, 10, 20, 40, 80, 160)...)
	w.env.Dir = "/src/app"
	ft, _, _ := w.growth(nil, tenAndTen...)
	wantText(t, "message", ft.errorText(), `
leakcheck: memory grows with every call of op

+1.00 *app.Session/op (+424 B/op) via example.com/app.sessions[*]
    objects: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls
    held by the package variable example.com/app.sessions (registry.go:12)

    added by 150 calls:
       objects       bytes
             -           -  example.com/app.sessions  map[string]*app.Session, 150 entries
           150    14.1 KiB  └─ [*]  *app.Session  ~
           150    46.9 KiB     └─ buf  []uint8
    one of the references marked ~ should have been dropped

    besides:
            75     1.2 KiB  example.com/app.sessions[*].id  string

op was called 160 times: 10 to warm up, then 10, 20, 40 and 80, with a snapshot after each batch
a cache that is not full yet looks the same: fill it before the first snapshot (Warmup), or leave it out (Ignore)

for a profile of all that is retained: go test -artifacts, or leakgate run`)
}

func TestGrowthOfGoroutines(t *testing.T) {
	origin := goroutine.Origin{Entry: "example.com/app.watch[...]", Started: "", CreatedBy: "example.com/app.New[...]", CreatedAt: "/src/app/watch.go:20"}
	steady := goroutine.Origin{Entry: "example.com/app.serve", Started: "", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/watch.go:30"}
	var reports []*refscan.Report
	var counts []map[goroutine.Origin]goroutine.Pile
	for _, n := range []int64{10, 20, 40, 80, 160} {
		reports = append(reports, report(sessions(7), frame(node("example.com/app.watch[int].s", "*example.com/app.Session", n, 96*n), refscan.RootInfo{
			Func: "example.com/app.watch[int]", File: "/src/app/watch.go", Line: 12,
			Goroutine: "example.com/app.New[int].gowrap1", CreatedBy: "example.com/app.New[int]", CreatedAt: "/src/app/watch.go:20", Goroutines: n,
		})))
		counts = append(counts, map[goroutine.Origin]goroutine.Pile{
			origin: {Count: n, State: "chan receive", Calls: []goroutine.Call{{Function: "example.com/app.watch[...]", At: "/src/app/watch.go:14"}}},
			steady: {Count: 4, State: "select", Calls: []goroutine.Call{{Function: "example.com/app.serve", At: "/src/app/watch.go:50"}}},
		})
	}
	ft, ok, _ := newWorld(t, reports...).growth(counts, tenAndTen...)
	if ok {
		t.Fatal("goroutines pile up unnoticed")
	}
	for _, part := range []string{
		"leakcheck: memory grows with every call of op\n",
		"\n+1.00 goroutine/op (+96 B/op beside the stack) in example.com/app.watch[...]\n",
		"    goroutines: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls\n",
		"    in state: chan receive, at example.com/app.watch[...] (", "watch.go:14)\n",
		"    created by example.com/app.New[...] (", "watch.go:20)\n",
		"    held by the variable s of example.com/app.watch[int] (", "watch.go:12)\n",
		"           150    14.1 KiB  example.com/app.watch[int].s  *app.Session\n",
	} {
		if !strings.Contains(ft.errorText(), part) {
			t.Errorf("no %q", part)
		}
	}
	if t.Failed() {
		t.Log(ft.errorText())
	}

	// Goroutines that refer to nothing are in no report.
	bare := growing(sessions, 7)
	for _, tt := range []struct {
		opts []GrowthOption
		want bool
	}{
		{nil, false},
		{[]GrowthOption{Scope("example.com/app")}, false},
		{[]GrowthOption{Scope("other.org/app")}, true},
		{[]GrowthOption{Ignore("app.watch", "they end with the process")}, true},
	} {
		w := newWorld(t, bare...)
		w.names.Roots = append(slices.Clone(w.names.Roots), "other.org/app.x")
		if ft, ok, _ := w.growth(counts, append(slices.Clone(tenAndTen), tt.opts...)...); ok != tt.want {
			t.Errorf("%v: passed is %v\n%s", tt.opts, ok, ft.errorText())
		}
	}
}

func TestGrowthOptions(t *testing.T) {
	leak := growing(sessions, 10, 20, 40, 80, 160)
	for _, opt := range []GrowthOption{Ignore("app.sessions", "a registry"), Ignore("example.com/app.*", "all"), Scope("other.org/app")} {
		w := newWorld(t, leak...)
		if ft, ok, _ := w.growth(nil, append(slices.Clone(tenAndTen), opt)...); !ok {
			t.Errorf("fails:\n%s", ft.errorText())
		}
	}
	misuses := map[string][]GrowthOption{
		"Iterations(0): op must be called at least once": {Iterations(0)},
		"Warmup(-1): op must be called at least once":    {Warmup(-1)},
		"option 1 is nil": {nil},
	}
	for part, opts := range misuses {
		w := newWorld(t, leak...)
		ft, ok, calls := w.growth(nil, opts...)
		if ok || calls > 0 || w.snapshots > 0 || !strings.Contains(ft.errorText(), part) {
			t.Errorf("want %q without any call, got %v after %d\n%s", part, ok, calls, ft.errorText())
		}
	}
	w := newWorld(t, leak...)
	ft := &fakeT{name: "TestLogout"}
	if growth.AssertNoGrowth(w.Checker, ft, environ.Site{}, nil, newGrowthRequest(nil, nil), growth.Source{Goroutines: goroutine.CountAll}) || !strings.Contains(ft.errorText(), "op is nil") {
		t.Errorf("a nil op: %s", ft.errorText())
	}
}

func TestGrowthUnknown(t *testing.T) {
	w := newWorld(t)
	w.err = &refscan.UnavailableError{Cause: "no fork today", Remedy: "try tomorrow"}
	ft, ok, _ := w.growth(nil, tenAndTen...)
	if !ok || !ft.logged("UNKNOWN") || !ft.logged("no fork today") {
		t.Errorf("passed is %v: %v %v", ok, ft.logs, ft.errors)
	}
	w.env.Strict = true
	if ft, ok, _ := w.growth(nil, tenAndTen...); ok || !strings.Contains(ft.errorText(), "try tomorrow") {
		t.Errorf("strict: passed is %v: %v", ok, ft.errors)
	}

	// A scan that does not agree with the collector is repeated.
	bad := report(sessions(20))
	bad.Totals.MissedBytes = 1 << 40
	w = newWorld(t, report(sessions(10)), bad, report(sessions(10)))
	if ft, ok, calls := w.growth(nil, tenAndTen...); !ok || w.snapshots != 3 || calls != 20 || ft.logged("UNKNOWN") {
		t.Errorf("passed is %v after %d snapshots: %v", ok, w.snapshots, ft.logs)
	}
	w = newWorld(t, report(sessions(10)), bad)
	w.env.Ci = true
	if ft, ok, _ := w.growth(nil, tenAndTen...); ok || !strings.Contains(ft.errorText(), "UNKNOWN") {
		t.Errorf("passed is %v: %v", ok, ft.errors)
	}
}

func TestGrowthRecord(t *testing.T) {
	w := newWorld(t, growing(sessions, 10, 20, 40, 80, 160)...)
	w.env.Artifacts = t.TempDir()
	w.growth(nil, tenAndTen...)
	files, err := filepath.Glob(filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout", "*", verdict.FileName))
	if err != nil || len(files) != 1 {
		t.Fatalf("records: %v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var r verdict.Result
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Verdict != verdict.Fail || len(r.Bounds) != 1 || r.RetainedObjects != 375 || !strings.Contains(r.Message, "+1.00 *app.Session/op") {
		t.Errorf("%+v", r)
	}
	if b := r.Bounds[0]; b.Verdict != verdict.Fail || b.Objects != 150 || b.Selector != "AssertNoGrowth: example.com/app.sessions[*]" || b.Line != 12 ||
		b.Growth != "+1.00 *app.Session/op (+424 B/op)" || len(b.HeldBy) == 0 || len(b.Chain) < 2 || b.Chain[0].Suspect || !b.Chain[1].Suspect || b.Chain[1].Objects != 150 {
		t.Errorf("%+v", b)
	}
}

func TestGrowthWarmUp(t *testing.T) {
	for op, want := range map[time.Duration]int{
		0: calls.MaxBatch, 10 * time.Microsecond: calls.MaxBatch, time.Millisecond: 25, 20 * time.Millisecond: calls.MinBatch,
		100 * time.Millisecond: 3, time.Second: 2,
	} {
		if got := calls.BatchSize(op); got != want {
			t.Errorf("an op of %s: %d calls in the first batch, want %d", op, got, want)
		}
	}
	for _, tt := range []struct {
		opts  []GrowthOption
		calls int
	}{
		{[]GrowthOption{Warmup(1), Iterations(1)}, 2},
		{[]GrowthOption{Warmup(300), Iterations(2)}, 302},
		{[]GrowthOption{Iterations(7)}, 14},
		{[]GrowthOption{Iterations(1)}, 3},
	} {
		if _, ok, calls := newWorld(t, growing(sessions, 5)...).growth(nil, tt.opts...); !ok || calls != tt.calls {
			t.Errorf("%d calls, want %d", calls, tt.calls)
		}
	}
}

// Where the leak makes each call slower, the last batch only confirms an exact leak, with fewer
// calls.
func TestGrowthOfSlowerCalls(t *testing.T) {
	for _, tt := range []struct {
		each time.Duration // by which each call takes longer than the one before
		last string
	}{
		{100 * time.Nanosecond, "1,000 and 2,000"},
		{time.Millisecond, "100 and 20"},
	} {
		w, ft, calls := newWorld(t), &fakeT{name: "TestLogout"}, 0
		op := func() {
			calls++
			w.slept += time.Duration(calls) * tt.each
			w.reports = []*refscan.Report{report(sessions(int64(calls)))}
		}
		ok := growth.AssertNoGrowth(w.Checker, ft, environ.Site{File: "/src/app/app_test.go", Line: 31}, op, newGrowthRequest(op, nil), growth.Source{Goroutines: goroutine.CountAll})
		ft.end()
		if ok || !strings.Contains(ft.errorText(), "+1.00 *app.Session/op") || !strings.Contains(ft.errorText(), tt.last+", with a snapshot after each batch") {
			t.Errorf("passed is %v: %s\n%v", ok, ft.errorText(), ft.logs)
		}
	}
}

// The last batch records allocations for two seconds at most, and no more calls than show each
// leak. What the calls that were recorded cannot tell is said.
func TestGrowthRecordsBriefly(t *testing.T) {
	const cut = "where it is allocated is not known: op is slow while its allocations are recorded, so that "
	for _, tt := range []struct {
		recording time.Duration // that a call takes while its allocations are recorded
		every     int           // each such call leaves an object
		recorded  int           // calls
		says      string
	}{
		{time.Millisecond, 1, 501, ""},     // for half a second
		{27 * time.Millisecond, 1, 64, ""}, // as many as show the leak
		{300 * time.Millisecond, 1, 7, cut + "7 of the last 1,000 calls were"},
		{3 * time.Second, 1, 1, cut + "1 of the last 1,000 calls were"},
		{27 * time.Millisecond, 100, 75, cut + "75 of the last 1,000 calls were"},
	} {
		rate := runtime.MemProfileRate
		w, ft, calls, recorded := newWorld(t), &fakeT{name: "TestLogout"}, 0, 0
		op := func() {
			calls++
			took := 200 * time.Microsecond
			if runtime.MemProfileRate == 1 {
				recorded++
				took = tt.recording
			}
			w.slept += took
			w.reports = []*refscan.Report{report(sessions(int64(calls / tt.every)))}
		}
		ok := growth.AssertNoGrowth(w.Checker, ft, environ.Site{File: "/src/app/app_test.go", Line: 31}, op, newGrowthRequest(op, nil), growth.Source{Goroutines: goroutine.CountAll})
		ft.end()
		if ok || recorded != tt.recorded || runtime.MemProfileRate != rate {
			t.Errorf("%+v: passed is %v, %d of %d calls recorded, the rate is %d", tt, ok, recorded, calls, runtime.MemProfileRate)
		}
		if says := strings.Contains(ft.errorText(), cut); says != (tt.says != "") || !strings.Contains(ft.errorText(), tt.says) {
			t.Errorf("%+v: %s", tt, ft.errorText())
		}
	}
}

func TestGrowthOpFails(t *testing.T) {
	wanted := errors.New("op's own")
	w := newWorld(t, growing(sessions, 5)...)
	defer func() {
		if e := recover(); e != wanted {
			t.Errorf("the panic of op became %v", e)
		}
		if ft, ok, _ := w.growth(nil, tenAndTen...); !ok {
			t.Errorf("the next assertion: %v", ft.errors)
		}
	}()
	op := func() { panic(wanted) }
	growth.AssertNoGrowth(w.Checker, &fakeT{name: "TestLogout"}, environ.Site{}, op, newGrowthRequest(op, nil), growth.Source{Goroutines: goroutine.CountAll})
}

// Objects that the collector keeps though no path leads to them are growth, whether or not the
// audit allows their number.
func TestGrowthOfMissed(t *testing.T) {
	missing := func(size int64, figures ...int64) []*refscan.Report {
		reports := growing(sessions, make([]int64, len(figures))...)
		for i, n := range figures {
			reports[i].Totals.MissedObjects, reports[i].Totals.MissedBytes = n, size*n
			reports[i].Missed = []*refscan.Node{{Figures: refscan.Figures{Objects: n - 1, Bytes: size * (n - 1)}}, {Type: "*example.com/app.Page", Figures: refscan.Figures{Objects: 1, Bytes: size}}}
		}
		return reports
	}
	for _, tt := range []struct {
		name    string
		size    int64
		figures []int64
		opts    []GrowthOption
		want    string // in the failure; "": it passes
	}{
		{"one a call", 100, []int64{10, 20, 40, 80, 160}, nil, "+1.00 object/op (+100 B/op) via (alive on no path)"},
		{"of a type that is known", 100, []int64{10, 20, 40, 80, 160}, nil, "among them, by what the allocator recorded: 1 *app.Page"},
		{"as many as ever", 100, []int64{160, 170, 165, 160, 168}, nil, ""},
		{"by chance", 100, []int64{1, 2, 4, 5, 9}, nil, ""},
		{"another scope", 100, []int64{10, 20, 40, 80, 160}, []GrowthOption{Scope("example.com/app")}, ""},
		{"more than an audit allows", 10_000, []int64{1000, 1000, 1000, 2000, 2000, 2000, 4000, 4000, 4000, 8000, 8000, 8000, 16000}, nil, "via (alive on no path)"},
		{"more than an audit allows, and not more and more", 10_000, []int64{100_000}, nil, "UNKNOWN"},
	} {
		w := newWorld(t, missing(tt.size, tt.figures...)...)
		w.env.Strict = true
		ft, ok, _ := w.growth(nil, append(slices.Clone(tenAndTen), tt.opts...)...)
		if ok != (tt.want == "") || !strings.Contains(ft.errorText(), tt.want) {
			t.Errorf("%s: want %q, passed is %v\n%s", tt.name, tt.want, ok, ft.errorText())
		}
	}
}
