package growth

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// newNativeWorld returns a world in which C code leaves a block with each call.
func newNativeWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, leaks(0))
	w.Resources = func(string) (*ledger.Ledger, error) { return &ledger.Ledger{}, nil }
	w.Native.Take = func() (*nativeheap.Heap, error) {
		n := 3 + w.calls
		return &nativeheap.Heap{Blocks: n, Bytes: 1008 * n, Sizes: map[int64]int64{1008: n}}, nil
	}
	return w
}

// Growth of C code's memory fails the test. The message names the calls that allocate it, or why
// they are not known.
func TestNativeCalls(t *testing.T) {
	answer := &verdict.NativeAnswer{Lines: []verdict.NativeLine{{Text: "   +1.00 block/op: malloc <- inner"}}, Base: "base", Last: "last"}
	for name, c := range map[string]struct {
		command string
		err     error
		takes   time.Duration // a call
		ends    bool
		says    string
		calls   int64
	}{
		"not asked for": {"", nil, 0, true, "leakgate run -native names the calls that allocate it", 160},
		"recorded":      {"/bin/leakgate", nil, 0, true, "allocated by:\n       +1.00 block/op: malloc <- inner\n", 180},
		"no compiler":   {"none: there is no C compiler", nil, 0, true, "which calls allocate it is not known: there is no C compiler", 160},
		"an error":      {"/bin/leakgate", errors.New("no room"), 0, true, "which calls allocate it is not known: no room", 180},
		"no time":       {"/bin/leakgate", nil, time.Second, true, "which calls allocate it is not known: there was no time for two more batches of calls", 160},
		"op fails":      {"/bin/leakgate", nil, 0, false, "", 161},
	} {
		t.Run(name, func(t *testing.T) {
			w := newNativeWorld(t)
			ft := &fakeT{name: "TestX"}
			w.env.Native = c.command
			w.Native.Record = func(_ context.Context, command string, calls, due int, batch func() bool) (*verdict.NativeAnswer, error) {
				assert.Equal(t, []any{"/bin/leakgate", 10, 100}, []any{command, calls, due})
				if !c.ends {
					w.fail = func(int64) { ft.failed = true }
				}
				for range 2 {
					before, after := new(runtime.MemStats), new(runtime.MemStats)
					runtime.ReadMemStats(before)
					if whole := batch(); !whole {
						assert.False(t, c.ends)
						return nil, errors.New("op failed")
					}
					runtime.ReadMemStats(after)
					assert.Greater(t, after.NumForcedGC, before.NumForcedGC, "finalizers free native memory")
				}
				return answer, c.err
			}
			if c.takes > 0 {
				ft.timeout = 190 * time.Second
			}
			assert.False(t, w.assert(ft, c.takes))
			assert.Contains(t, ft.errorText(), "\n+1.00 native block/op (+1008 B/op): 1 x 1,008\n")
			assert.Contains(t, ft.errorText(), c.says)
			assert.Equal(t, c.calls, w.calls)
			if c.calls <= 180 {
				assert.Contains(t, ft.errorText(), "op was called 160 times", "the calls that were recorded do not count")
			}
		})
	}
}

// The holders of the blocks that are new since the last batch are found, and the package that calls
// C code, if it is one alone.
func TestNativeHolders(t *testing.T) {
	for name, c := range map[string]struct {
		types []string
		err   error
		says  []string
	}{
		"one package":  {[]string{"func example.com/app._Cfunc_make", "func example.com/app._Cfunc_free", "func net._Cfunc_x", "*example.com/app.T"}, nil, []string{"held by example.com/app.handles[*] -> ", "example.com/app.(C code)"}},
		"two packages": {[]string{"func example.com/app._Cfunc_make", "func example.com/gl._Cfunc_make"}, nil, []string{"held by example.com/app.handles[*] -> "}},
		"no holders":   {nil, errors.New("no debug information"), []string{"no debug information"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newNativeWorld(t)
			w.names.types = c.types
			w.Native.Blocks = func() ([]nativeheap.Block, error) {
				return []nativeheap.Block{{Addr: 16, Size: 1008}, {Addr: 64, Size: 1008}}, nil
			}
			w.Native.Holders = func(_ context.Context, is func(nativeheap.Block) bool) (*nativeholders.Result, error) {
				for addr, isNew := range map[uint64]bool{8: true, 16: false, 32: true, 64: false, 80: true} {
					assert.Equal(t, isNew, is(nativeheap.Block{Addr: addr}), addr)
				}
				sum := nativeholders.Sum{Blocks: 80, Bytes: 80 * 1008}
				return &nativeholders.Result{Holders: []nativeholders.Holder{{Name: "example.com/app.handles[*]", Sum: sum}}, All: sum}, c.err
			}
			ft := &fakeT{name: "TestX"}
			assert.False(t, w.assert(ft, 0))
			for _, text := range c.says {
				assert.Contains(t, ft.errorText(), text)
			}
			assert.Equal(t, name == "one package", strings.Contains(ft.errorText(), "(C code)"))
		})
	}
}

// Native memory that is not known is noted once, whatever figures its cause has. A program without
// a C library has none.
func TestNativeUnknown(t *testing.T) {
	w := newNativeWorld(t)
	looks := 0
	err := errors.New("it is in flux")
	w.Native.Take = func() (*nativeheap.Heap, error) {
		looks++
		return nil, errors.Join(err, errors.New(strings.Repeat("x", looks)))
	}
	ft := &fakeT{name: "TestX"}
	assert.True(t, w.assert(ft, 0))
	assert.Equal(t, 1, strings.Count(ft.logText(), "native memory was not looked at: it is in flux"))
	err = nativeheap.ErrNone
	ft = &fakeT{name: "TestX"}
	assert.True(t, w.assert(ft, 0))
	assert.Empty(t, ft.logs)
	assert.Greater(t, looks, 2)
}

// Of a leak of large blocks fewer calls are recorded: the tables of the recorder have room for so
// many bytes.
func TestNativeCallsOfLargeBlocks(t *testing.T) {
	w := newNativeWorld(t)
	w.Native.Take = func() (*nativeheap.Heap, error) {
		n := 1 << 20 * w.calls
		return &nativeheap.Heap{Blocks: 1, Bytes: n, Sizes: map[int64]int64{n: 1}}, nil
	}
	w.env.Native = "/bin/leakgate"
	w.Native.Record = func(_ context.Context, _ string, calls, due int, _ func() bool) (*verdict.NativeAnswer, error) {
		assert.Equal(t, []int{4, 0}, []int{calls, due})
		return nil, errors.New("no room")
	}
	ft := &fakeT{name: "TestX"}
	assert.False(t, w.assert(ft, 0))
	assert.Contains(t, ft.errorText(), "\n+1.0 MiB/op: native memory, in about as many blocks\n")
	assert.Contains(t, ft.errorText(), "no room")
}
