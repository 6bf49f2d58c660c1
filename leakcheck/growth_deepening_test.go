package leakcheck_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

// A walker takes a step for each message.
type walker struct{ step, done chan bool }

// take takes a step, or ends the goroutine.
func (w *walker) take() {
	if _, more := <-w.step; !more {
		runtime.Goexit()
	}
	w.done <- true
}

// descend handles the next step in a call of its own.
func (w *walker) descend() {
	w.take()
	//lint:ignore SA5007 take ends the goroutine
	w.descend()
}

// visit calls itself through another function.
func (w *walker) visit() {
	w.take()
	w.next(w.visit)
}

func (w *walker) next(f func()) { f() }

// turn has something left to do after the call.
func (w *walker) turn(n int) int {
	w.take()
	//lint:ignore SA5007 take ends the goroutine
	return n + w.turn(n+1)
}

// loop needs no frame for a step.
func (w *walker) loop() {
	for range w.step {
		w.done <- true
	}
}

// bounded goes down to a depth, and up again.
func (w *walker) bounded(depth int) {
	for {
		w.down(depth)
	}
}

func (w *walker) down(depth int) {
	if depth > 0 {
		w.take()
		w.down(depth - 1)
	}
}

// A goroutine whose stack gets deeper with each call of op leaks, however few calls there are. One
// that waits at another depth now and then does not.
func TestDeepeningStack(t *testing.T) {
	fillCut(t)
	tests := []struct {
		name string
		run  func(w *walker)
		opts []leakcheck.GrowthOption
		want string // "": passes
	}{
		{"recursion", (*walker).descend, nil, "+1.00 frame/op on the stack of github.com/leakgate/leakgate/leakcheck_test.(*walker).descend"},
		{"few calls", (*walker).descend, []leakcheck.GrowthOption{leakcheck.Iterations(5)}, "+1.00 frame/op"},
		{"full", (*walker).descend, []leakcheck.GrowthOption{leakcheck.Full()}, "+1.00 frame/op"},
		{"two functions", (*walker).visit, nil, "+2.00 frames/op on the stack of github.com/leakgate/leakgate/leakcheck_test.(*walker).visit"},
		{"sums", func(w *walker) { w.turn(0) }, nil, "+1.00 frame/op"},
		{"loop", (*walker).loop, nil, ""},
		{"bounded", func(w *walker) { w.bounded(7) }, nil, ""},
		{"bounded, deep", func(w *walker) { w.bounded(1000) }, nil, ""},
		{"bounded, few calls", func(w *walker) { w.bounded(9) }, []leakcheck.GrowthOption{leakcheck.Iterations(10)}, ""},
	}
	for i := 0; i < len(tests); i += require.Rounds(3, 1) {
		tt := tests[i]
		t.Run(tt.name, func(t *testing.T) {
			w := &walker{make(chan bool), make(chan bool)}
			go tt.run(w)
			defer close(w.step)
			ft := &failingT{recordingT{name: t.Name()}}
			leakcheck.AssertNoGrowth(ft, func() { w.step <- false; <-w.done }, tt.opts...)
			text := strings.Join(ft.errors, "\n")
			switch {
			case tt.want == "" && text != "":
				t.Error(text)
			case tt.want != "" && !strings.Contains(text, tt.want):
				t.Errorf("no %q in %s\n%s", tt.want, text, strings.Join(ft.logs, "\n"))
			case tt.want != "" && !strings.Contains(text, "calls itself for the next step"):
				t.Error(text)
			}
		})
	}
}
