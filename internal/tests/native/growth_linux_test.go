//go:build cgo && linux && (amd64 || arm64)

package native

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/leakcheck"
)

// recorder is a test that records its messages.
type recorder struct {
	testing.TB
	failed bool
	text   strings.Builder
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	fmt.Fprintf(&r.text, format+"\n", args...)
}
func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(&r.text, format+"\n", args...) }
func (r *recorder) Log(args ...any)                 { fmt.Fprintln(&r.text, args...) }
func (r *recorder) Error(args ...any)               { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recorder) Failed() bool                    { return r.failed }
func (r *recorder) Skipf(format string, args ...any) {
	r.Errorf("skipped: "+format, args...)
}

var kept []unsafe.Pointer

// TestLeaks finds the blocks that C code leaves, by size. The corpus has the cases with Go objects
// that hold them: Go objects of this module belong to the tool.
func TestLeaks(t *testing.T) {
	for _, tt := range []struct {
		name string
		op   func()
		want []string
	}{
		{"lost", func() { leak(1000) }, []string{"+1.00 native block/op (+1008 B/op): 1 x 1,008", "\n    no reference is left: lost"}},
		{"several", func() {
			for _, size := range []int{1000, 300, 100, 20, 20, 20} {
				leak(size)
			}
		}, []string{"+6.00 native blocks/op (+1.5 KiB/op): 1 x 1,008, 1 x 320, 1 x 112, 3 x 32"}},
		{"mapped", func() { leak(200_000) }, []string{"+1.00 native block/op (+196.0 KiB/op): 1 x 200,704"}},
		{"string", func() { leakString("a string that C has") }, []string{"+1.00 native block/op (+32 B/op): 1 x 32"}},
		{"thread", func() { allocateOnThread(1000) }, []string{"+1.00 native block/op (+1008 B/op)"}},
		{"grows in place", grow, []string{"of native blocks", ": native memory, in about as many blocks"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{TB: t}
			var few []leakcheck.GrowthOption
			if tt.name == "mapped" { // the mapping stays, and later tests have to read its memory
				few = append(few, leakcheck.Iterations(30))
			}
			require.False(t, leakcheck.AssertNoGrowth(r, tt.op, few...), r.text.String())
			for _, want := range tt.want {
				require.Contains(t, r.text.String(), want)
			}
			t.Log(r.text.String())
		})
	}
}

// TestHealthy checks that nothing is reported of C code that frees what it allocates, or keeps
// something once.
func TestHealthy(t *testing.T) {
	for _, tt := range []struct {
		name string
		op   func()
	}{
		{"freed", func() { free(leak(1000)) }},
		{"freed late", func() {
			if kept = append(kept, leak(100)); len(kept) > 10 {
				free(kept[0])
				kept = kept[1:]
			}
		}},
		{"random", func() { startThreads(7, 2, 20); endThreads(2) }},
		{"cache", func() { cacheBlocks(100) }},
		{"threads that end", func() { allocateOnThread(0) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{TB: t}
			require.True(t, leakcheck.AssertNoGrowth(r, tt.op), r.text.String())
			require.NotContains(t, r.text.String(), "native memory was not looked at")
		})
	}
}

// TestBounds checks bounds on all native memory, and on what was added since a baseline.
func TestBounds(t *testing.T) {
	b := leakcheck.TakeBaseline(t)
	require.True(t, leakcheck.AssertRetained(t, leakcheck.NativeMemory().None(), leakcheck.Since(b)))
	blocks := []unsafe.Pointer{leak(1000), leak(1000), leak(300_000)}
	r := &recorder{TB: t}
	require.False(t, leakcheck.AssertRetained(r, leakcheck.NativeMemory().Max(2), leakcheck.Since(b)))
	require.Contains(t, r.text.String(), "NativeMemory().Max(2)\n    found 3 native blocks beyond the baseline: 1 more than allowed\n    of all ")
	require.Contains(t, r.text.String(), " native blocks of these sizes:\n")
	require.Contains(t, r.text.String(), "\n           2  blocks of 1,008 bytes\n           1  blocks with a mapping each")
	r = &recorder{TB: t}
	require.False(t, leakcheck.AssertRetained(r, leakcheck.NativeMemory().MaxBytes(4096), leakcheck.Since(b)))
	require.Contains(t, r.text.String(), "NativeMemory().MaxBytes(4096)\n    found 298.0 KiB of native memory beyond the baseline: 294.0 KiB more than allowed")
	require.True(t, leakcheck.AssertRetained(t, leakcheck.NativeMemory().Max(3), leakcheck.NativeMemory().MaxBytes(400_000), leakcheck.Since(b)))
	for _, p := range blocks {
		free(p)
	}
	require.True(t, leakcheck.AssertRetained(t, leakcheck.NativeMemory().None(), leakcheck.Since(b)))
}
