package leakcheck

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// nativeLeak returns a world in which C code leaves a block with each call.
func nativeLeak(t *testing.T) *world {
	w := newWorld(t, growing(sessions, 5)...)
	figures := []int64{3, 13, 33, 73, 153}
	w.Native.Take = func() (*nativeheap.Heap, error) {
		n := figures[min(w.snapshots-1, len(figures)-1)]
		return &nativeheap.Heap{Blocks: n, Bytes: 1008 * n, Sizes: map[int64]int64{1008: n}}, nil
	}
	w.resources(func(int64) []ledger.Item { return nil }, 0)
	return w
}

// TestNativeGrowthInLargerBlocks lets malloc give a larger block than requested now and then, and
// something else grow by blocks of that size or another.
func TestNativeGrowthInLargerBlocks(t *testing.T) {
	after := []int64{10, 20, 40, 80, 160, 160, 200, 280, 360, 440} // calls; the fifth batch is looked at twice
	for name, tt := range map[string]struct {
		sizes func(calls, larger int64) map[int64]int64
		want  string
	}{
		"malloc's": {
			func(calls, larger int64) map[int64]int64 {
				return map[int64]int64{112: calls - larger, 128: 7 + larger}
			},
			"\n+1.00 native block/op (+112 B/op): 1 x 112\n",
		},
		"of another size": {
			func(calls, larger int64) map[int64]int64 {
				return map[int64]int64{112: calls - larger, 144: 7 + larger}
			},
			"\n+0.99 native blocks/op (+111 B/op): 1 x 112\n",
		},
		"beside all that were due": {
			func(calls, larger int64) map[int64]int64 {
				return map[int64]int64{112: calls, 128: larger}
			},
			"\n+1.00 native block/op (+112 B/op): 1 x 112\n",
		},
		"growth of its own": {
			func(calls, _ int64) map[int64]int64 { return map[int64]int64{112: calls, 128: calls} },
			"\n+2.00 native blocks/op (+240 B/op): 1 x 128, 1 x 112\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, growing(sessions, 5)...)
			w.Native.Take = func() (*nativeheap.Heap, error) {
				calls := after[min(w.snapshots, len(after))-1]
				larger := int64(1)
				if calls < 40 {
					larger = 0
				}
				h := &nativeheap.Heap{Sizes: tt.sizes(calls, larger)}
				for size, n := range h.Sizes {
					h.Blocks += n
					h.Bytes += size * n
				}
				return h, nil
			}
			w.resources(func(int64) []ledger.Item { return nil }, 0)
			ft, ok, _ := w.growth(nil, tenAndTen...)
			if ok {
				t.Fatalf("passed\n%s", ft.logs)
			}
			wantInOrder(t, ft.errorText(), tt.want)
		})
	}
}

// TestNativeGrowthBesideThreads lets an array of C code grow beside new threads. After few calls it
// is no larger than what libraries may keep for these threads; in the end a leak is.
func TestNativeGrowthBesideThreads(t *testing.T) {
	for name, tt := range map[string]struct {
		perCall int64
		passes  bool
	}{
		"a leak": {4096, false}, "what threads may have": {400, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, growing(sessions, 5)...)
			calls := []int64{10, 20, 40, 80, 160}
			w.Native.Take = func() (*nativeheap.Heap, error) {
				n := tt.perCall * calls[min(w.snapshots-1, len(calls)-1)]
				return &nativeheap.Heap{Blocks: 1, Bytes: n, Sizes: map[int64]int64{n: 1}, Threads: min(5+w.snapshots, 7)}, nil
			}
			w.resources(func(int64) []ledger.Item { return nil }, 0)
			ft, ok, _ := w.growth(nil, tenAndTen...)
			if ok != tt.passes {
				t.Fatalf("passed: %v\n%s", ok, ft.errorText())
			}
			if !ok {
				wantInOrder(t, ft.errorText(), "\n+4.0 KiB/op: native memory, in about as many blocks\n")
			} else if !ft.logged("is no leak: native memory: bytes of native blocks: ") {
				t.Error(ft.logs)
			}
		})
	}
}

// TestNativeCalls checks that the message names the calls that allocate growing memory, or how to
// get them, or why they are unknown.
func TestNativeCalls(t *testing.T) {
	answer := &verdict.NativeAnswer{
		Lines: []verdict.NativeLine{{Text: "   +1.00 block/op: malloc <- inner"}, {Text: "      outer", At: "/src/app/app.c:7"}, {Mapping: true, Text: "of a mapping"}},
		Base:  "base", Last: "last",
	}
	record := func(a *verdict.NativeAnswer, err error) func(context.Context, string, int, int, func() bool) (*verdict.NativeAnswer, error) {
		return func(_ context.Context, command string, calls, due int, batch func() bool) (*verdict.NativeAnswer, error) {
			if command != "/bin/leakgate" || due != 100 || calls != 10 {
				t.Errorf("%s, %d calls, %d due", command, calls, due)
			}
			for range 2 {
				if !batch() {
					t.Error("a batch did not end")
				}
			}
			return a, err
		}
	}
	const title = "\n+1.00 native block/op (+1008 B/op): 1 x 1,008\n"
	for name, tt := range map[string]struct {
		native string
		err    error
		want   []string
	}{
		"not asked for": {"", nil, []string{title, "\n    leakgate run -native names the calls that allocate it\n", "op was called 160 times"}},
		"recorded": {"/bin/leakgate", nil, []string{
			title, "\n    allocated by:\n       +1.00 block/op: malloc <- inner\n          outer (", "app.c:7)\n", "after each batch; then 20 with calls of C code recorded\n", "calls of C code: go tool pprof",
		}},
		"no compiler": {"none: there is no C compiler", nil, []string{title, "\n    which calls allocate it is not known: there is no C compiler\n"}},
		"no room":     {"/bin/leakgate", os.ErrClosed, []string{title, "\n    which calls allocate it is not known: file already closed\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := nativeLeak(t)
			w.env.Native, w.env.Artifacts = tt.native, t.TempDir()
			w.Native.Record = record(answer, tt.err)
			ft, ok, _ := w.growth(nil, tenAndTen...)
			if ok {
				t.Fatal("passed")
			}
			wantInOrder(t, ft.errorText(), tt.want...)
			if strings.Contains(ft.errorText(), "of a mapping") {
				t.Error(ft.errorText())
			}
			files, err := filepath.Glob(filepath.Join(w.env.Artifacts, "example.com/app/TestLogout/1/native*.pb.gz"))
			if err != nil || len(files) != 2 && name == "recorded" || len(files) > 0 && name != "recorded" {
				t.Errorf("%v: %q", err, files)
			}
		})
	}
}
