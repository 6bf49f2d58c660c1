package message

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/require"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/refscan"
)

func frames(names string) (all []refscan.SourceFrame) {
	for _, name := range strings.Fields(names) {
		all = append(all, refscan.SourceFrame{Func: name})
	}
	return all
}

// TestNativeCalls has what calls share once, by the Go code that makes them.
func TestNativeCalls(t *testing.T) {
	env := &environ.Environment{Modules: symbol.OwnModules()}
	const prepare = "example.com/app._Cfunc_prepare example.com/app.(*DB).Query example.com/app.TestX.func1 github.com/leakgate/leakgate/leakcheck/internal/growth.(*Experiment).call"
	for name, tt := range map[string]struct {
		calls []NativeCall
		want  []string
	}{
		"none": {nil, []string{"no call of malloc is behind it that could be recorded"}},
		"one": {
			[]NativeCall{{Function: "calloc", C: frames("a b c d e _cgo_0123_Cfunc_prepare"), Go: frames("runtime.cgocall " + prepare), Blocks: 1, Bytes: 100}},
			[]string{
				"allocated by:", "   +1.00 block/op (+100 B/op): calloc <- a <- b <- c", "      d", "      e",
				"      example.com/app._Cfunc_prepare", "      example.com/app.(*DB).Query", "      example.com/app.TestX.func1",
			},
		},
		"several": {
			[]NativeCall{
				{Function: "malloc", C: frames("sys grow vm parse"), Go: frames(prepare), Blocks: 2, Bytes: 30},
				{Function: "malloc", C: frames("sys name a b c d parse"), Go: frames(prepare), Blocks: 1, Bytes: 100},
				{Function: "realloc", C: frames("thread"), Bytes: 64},
			},
			[]string{
				"allocated by:", "   +1.00 block/op (+100 B/op): name <- a <- b <- c <- d", "   +2.00 blocks/op (+30 B/op): grow <- vm", "   all by malloc <- sys", "      parse",
				"      example.com/app._Cfunc_prepare", "      example.com/app.(*DB).Query", "      example.com/app.TestX.func1",
				"   +64 B/op: realloc <- thread",
			},
		},
		"same everywhere": {
			[]NativeCall{
				{Function: "mmap", C: frames("a b"), Go: frames("x"), Blocks: 1, Bytes: 4096},
				{Function: "mmap", C: frames("b"), Go: frames("x"), Blocks: 1, Bytes: 4096},
			},
			[]string{"allocated by:", "   +1.00 mapping/op (+4.0 KiB/op): mmap <- a", "   +1.00 mapping/op (+4.0 KiB/op): mmap", "      b", "      x"},
		},
	} {
		require.Equal(t, tt.want, NativeCalls(tt.calls, env), name)
	}
}
