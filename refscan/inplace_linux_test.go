//go:build (amd64 || arm64) && go1.26

package refscan_test

import (
	"container/list"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// Types that an interface, a table, a map, a list, a closure and a channel hold.
type (
	copiedSmall  struct{ next *copiedSmall }
	copiedLarge  struct{ table [100]*copiedSmall }
	copiedBoxed  struct{ refs [3]*int }
	copiedMapped struct{ self *copiedMapped }
	copiedListed struct{ _ [5]int }
	copiedSent   struct{ _ [3]*int }
)

var copied struct {
	holder any
	large  *copiedLarge
	many   map[int]*copiedMapped
	list   *list.List
	fn     func() *copiedBoxed
	ch     chan *copiedSent
}

func fillCopied() {
	copied.holder = &copiedBoxed{}
	copied.large = new(copiedLarge)
	for i := range copied.large.table {
		copied.large.table[i] = &copiedSmall{next: &copiedSmall{}}
	}
	copied.many = make(map[int]*copiedMapped)
	for i := range 1000 {
		copied.many[i] = &copiedMapped{self: &copiedMapped{}}
	}
	copied.list = list.New()
	for range 10 {
		copied.list.PushBack(&copiedListed{})
	}
	boxed := &copiedBoxed{refs: [3]*int{new(int)}}
	copied.fn = func() *copiedBoxed { return boxed }
	copied.ch = make(chan *copiedSent, 3)
	copied.ch <- &copiedSent{}
}

// countTypes counts the objects of each type, at whatever path.
func countTypes(nodes []*refscan.Node, into map[string]int64) {
	for _, n := range nodes {
		into[strings.TrimPrefix(n.Type, "*")] += n.Objects - n.UntypedObjects
		countTypes(n.Children, into)
	}
}

// A process that is copied in place has the same objects at the same roots as a forked one.
func TestInPlace(t *testing.T) {
	fillCopied()
	defer func() { copied.holder = nil }()
	t.Setenv("LEAKGATE_FREEZE", "fork")
	forked := scan(t)
	require.Empty(t, forked.NotForked)
	t.Setenv("LEAKGATE_FREEZE", "inplace")
	inPlace := scan(t)
	require.Equal(t, "LEAKGATE_FREEZE says so", inPlace.NotForked)
	require.Positive(t, inPlace.Pause)
	require.Zero(t, inPlace.Totals.ExtraBytes)
	require.LessOrEqual(t, inPlace.Totals.MissedBytes, auditLimit(inPlace.Totals))
	want, got := make(map[string]int64), make(map[string]int64)
	countTypes(forked.Roots, want)
	countTypes(inPlace.Roots, got)
	compared := 0
	for typ := range want {
		if strings.Contains(typ, ".copied") {
			compared++
			require.Equal(t, want[typ], got[typ], typ)
		}
	}
	require.Greater(t, compared, 5)
	require.Equal(t, at(t, forked, "copied").Objects, at(t, inPlace, "copied").Objects)
}

// wayVariable makes TestWays run in a process of its own, which has a small heap and is at rest.
const wayVariable = "LEAKGATE_TEST_WAYS"

var waysHeap [][]*byte

// By default a small image is copied in place. A larger image, or one that is to have the memory of
// C, is made by a fork.
func TestSmallInPlace(t *testing.T) {
	require.Slow(t)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestWays$", "-test.v")
	cmd.Env = append(os.Environ(), "LEAKGATE_FREEZE=", wayVariable+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestWays ")
}

// TestWays is what TestSmallInPlace runs.
func TestWays(t *testing.T) {
	if os.Getenv(wayVariable) == "" {
		return
	}
	const small = "the image is small"
	notForked := func(opts ...refscan.CaptureOption) string {
		s, err := refscan.Capture(opts...)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		r, err := s.Scan()
		require.NoError(t, err)
		sound(t, r)
		return r.NotForked
	}
	requireSmall := func() {
		got := ""
		for range 50 { // on a busy machine it may not be at rest
			if got = notForked(); got != "" {
				break
			}
		}
		require.Equal(t, small, got)
	}
	requireSmall()
	hasSpare := func() bool { return offheap.Kept.Load() > 32<<20 } // types are kept, too
	require.True(t, hasSpare(), "memory for the next copy")
	require.Empty(t, notForked(snapshot.Foreign{}))
	require.False(t, hasSpare(), "a snapshot of C code's memory would have it, too")
	returned := false
	for i := range 100 { // each copy may find the pages of those before it, which the audit would see
		waysHeap = append(waysHeap[:0], make([]*byte, 1<<(i%17)))
		requireSmall()
		returned = returned || !hasSpare()
	}
	require.True(t, returned, "the memory is never given back to the system")
	for range 20 {
		waysHeap = append(waysHeap, make([]*byte, 1<<17)) // a megabyte
	}
	require.Empty(t, notForked())
	waysHeap = nil
	requireSmall()
	texts := make([]string, 0, 60_000)
	for i := range cap(texts) { // 29 MB without pointers, in objects small enough to be copied
		texts = append(texts, strings.Repeat("-", 450+i%30))
	}
	require.Empty(t, notForked())
	runtime.KeepAlive(texts)
}

// Constructs of all kinds are found in place, too. The test has a process of its own, since other
// tests leave payloads behind.
func TestConstructsInPlace(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.run=^TestConstructs$", "-test.v")
	cmd.Env = append(os.Environ(), "LEAKGATE_FREEZE=inplace")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestConstructs ")
}

// Work under load gives the same results in place: see TestSoak.
func TestSoakInPlace(t *testing.T) {
	require.Slow(t)
	t.Setenv("LEAKGATE_FREEZE", "inplace")
	TestSoak(t)
}
