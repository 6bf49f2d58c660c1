// Program frames profiles goroutines whose frames have known sizes, and checks what it sees. It is built in several ways.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/leakgate/leakgate/stackprof"
)

var (
	ready   sync.WaitGroup
	done    sync.WaitGroup
	release = make(chan struct{})
)

func park() {
	ready.Done()
	<-release
}

//go:noinline
func fill(b []byte) {
	for i := range b {
		b[i] = byte(i)
	}
}

//go:noinline
func oneThousand() {
	var frame [1000]byte
	fill(frame[:])
	park()
	fill(frame[:])
}

//go:noinline
func twoThousand() {
	var frame [2000]byte
	fill(frame[:])
	park()
	fill(frame[:])
}

//go:noinline
func threeThousand() {
	var frame [3000]byte
	fill(frame[:])
	park()
	fill(frame[:])
}

//go:noinline
func openCodedDefer() {
	var frame [4000]byte
	defer fill(frame[:])
	defer park()
}

//go:noinline
func panicking() {
	var frame [5000]byte
	defer func() { _ = recover() }()
	defer park()
	fill(frame[:])
	panic(frame[7])
}

//go:noinline
func lockedToThread() {
	var frame [6000]byte
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fill(frame[:])
	park()
	fill(frame[:])
}

//go:noinline
func deep(n int) {
	var frame [700]byte
	fill(frame[:])
	if n == 0 {
		park()
	} else {
		deep(n - 1)
	}
	fill(frame[:])
}

//go:noinline
func inSystemCall(fd int) {
	var frame [8000]byte
	fill(frame[:])
	ready.Done()
	_, _ = syscall.Read(fd, make([]byte, 1)) // with the race detector, what is read into lies on the heap
	fill(frame[:])
}

const (
	depth = 2000
	// spare is what a frame may have besides its array: spills, the return address, and in builds with the
	// race detector or without optimisation copies of variables.
	spare = 400
)

func main() {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		fail(err)
	}
	want := map[string]struct{ frame, count int64 }{}
	start := func(name string, frame, count int64, f func()) {
		want["main."+name] = struct{ frame, count int64 }{frame, count}
		ready.Add(1)
		done.Go(f)
	}
	start("oneThousand", 1000, 1, oneThousand)
	start("twoThousand", 2000, 1, twoThousand)
	start("threeThousand", 3000, 1, threeThousand)
	start("threeThousand", 3000, 2, threeThousand)
	start("openCodedDefer", 4000, 1, openCodedDefer)
	start("panicking", 5000, 1, panicking)
	start("lockedToThread", 6000, 1, lockedToThread)
	start("deep", 700, depth+1, func() { deep(depth) })
	start("inSystemCall", 8000, 1, func() { inSystemCall(pipe[0]) })
	ready.Wait()

	p, err := stackprof.Take()
	if err != nil {
		fail(err)
	}
	s := p.Stacks
	if s.Unattributed != 0 {
		fail("unattributed", s.Unattributed)
	}
	for _, g := range s.Goroutines {
		sum := g.Trace.Base
		for _, f := range g.Trace.Frames {
			sum += f.Size
		}
		if g.Trace.Problem != "" || sum != g.Used() {
			fail(g.Entry, g.Trace.Problem, sum, g.Used())
		}
	}
	found := 0
	total := int64(0)
	for _, f := range p.Top() {
		total += f.Flat
		w, ok := want[f.Name]
		if !ok {
			continue
		}
		found++
		if least := w.count * w.frame; f.Flat < least || f.Flat > least+w.count*spare {
			fail(f.Name, "has", f.Flat, "bytes in", w.count, "frames of", w.frame)
		}
	}
	if found != len(want) || total != s.HeapBytes+s.OSBytes {
		fail(found, "of", len(want), "functions;", total, "bytes of", s.HeapBytes+s.OSBytes)
	}
	close(release)
	if _, err := syscall.Write(pipe[1], []byte{1}); err != nil {
		fail(err)
	}
	done.Wait()
	fmt.Println("ok", strings.HasPrefix(s.GoVersion, "go1."))
}

func fail(args ...any) {
	fmt.Println(append([]any{"wrong:"}, args...)...)
	os.Exit(1)
}
