package reporttest

import (
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

// StackOf makes a stack from pairs of a function and its frame's size, the outermost first.
func StackOf(frames ...any) *refscan.StackTrace {
	t := &refscan.StackTrace{Base: 8}
	for i := len(frames) - 2; i >= 0; i -= 2 {
		l := &refscan.StackLocation{Func: frames[i].(string), File: "example.com/app/pool.go", Line: 40 + i, StartLine: 30}
		l.Wrapper = strings.Contains(l.Func, ".gowrap")
		t.Frames = append(t.Frames, refscan.StackFrame{StackLocation: l, Size: int64(frames[i+1].(int))})
	}
	t.Frames = append(t.Frames, refscan.StackFrame{StackLocation: &refscan.StackLocation{Func: "runtime.goexit"}, Size: 8})
	return t
}

// Goroutines makes goroutines of 64 KiB of stack.
func Goroutines(n int, entry, createdBy string, t *refscan.StackTrace) []*refscan.GoroutineStack {
	used := t.Base
	for _, f := range t.Frames {
		used += f.Size
	}
	var all []*refscan.GoroutineStack
	for range n {
		all = append(all, &refscan.GoroutineStack{
			Lo: 0x10000, Hi: 0x20000, SP: 0x20000 - uint64(used), Trace: t, State: "waiting", WaitReason: "chan receive",
			Entry: entry, CreatedBy: createdBy, CreatedFile: "example.com/app/pool.go", CreatedLine: 31,
		})
	}
	return all
}
