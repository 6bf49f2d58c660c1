package leakcheck_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck"
)

// A failingT is a test that tells whether it has failed.
type failingT struct{ recordingT }

func (t *failingT) Failed() bool  { return len(t.errors) > 0 }
func (t *failingT) Skipped() bool { return false }

// An op that fails the test need not do so thousands of times.
func TestGrowthStopsWhereOpFails(t *testing.T) {
	fillCut(t)
	for _, call := range []int{1, 2, 10, 350} { // of 600, if nothing fails
		ft := &failingT{recordingT{name: "TestOp"}}
		calls := 0
		if leakcheck.AssertNoGrowth(ft, func() {
			if calls++; calls == call {
				ft.Errorf("op's own")
			}
		}, leakcheck.Iterations(300)) {
			t.Error("passed")
		}
		if calls != call {
			t.Errorf("%d calls, though op failed the test in call %d", calls, call)
		}
		wantParts(t, strings.Join(ft.logs, "\n"), fmt.Sprintf("whether memory grows was not checked, because op failed the test in call %d", call))
	}

	// A test that has failed before may check what it likes.
	ft := &failingT{recordingT{name: "TestOp", errors: []string{"before"}}}
	calls := 0
	if !leakcheck.AssertNoGrowth(ft, func() { calls++ }, leakcheck.Iterations(10)) || calls < 20 {
		t.Error(calls, ft.errors)
	}
}

var twiceBounded []*guest

// A path that breaks two bounds is shown once.
func TestSecondBoundOnOnePath(t *testing.T) {
	fillCut(t)
	twiceBounded = []*guest{{}, {}, {}}
	t.Cleanup(func() { twiceBounded = nil })
	ft := &recordingT{name: "TestTwice"}
	if leakcheck.AssertRetained(ft, leakcheck.Root("leakcheck_test.twiceBounded").MaxObjects(1), leakcheck.Type[*guest]().None()) {
		t.Fatal("passed")
	}
	message := strings.Join(ft.errors, "\n")
	wantParts(t, message, "Type[*leakcheck_test.guest]().None()\n    found 3 objects, 48 B\n    most of it is at the end of the path above\n")
	if n := strings.Count(message, "held by the package variable"); n != 1 {
		t.Errorf("the path is shown %d times in:\n%s", n, message)
	}
}

// Memory that a stack holds without a name is not called a variable.
func TestUnnamedSlotsInMessages(t *testing.T) {
	fillCut(t)
	held := map[int]*guest{} // on the stack, since it is small and does not escape
	held[1] = &guest{}
	ft := &recordingT{name: "TestSlot"}
	if leakcheck.AssertRetained(ft, leakcheck.Type[*guest]().None()) {
		t.Fatal("passed")
	}
	message := strings.Join(ft.errors, "\n")
	if !strings.Contains(message, "held by your test itself: a temporary value of ") && !strings.Contains(message, "held by your test itself: the variable held of ") ||
		strings.Contains(message, "the variable $") {
		t.Error(message)
	}
	if len(held) != 1 {
		t.Error(held)
	}
}

// stuckContext is a parent of a type of its own, for which each child needs a goroutine.
type stuckContext struct {
	context.Context
	done chan struct{}
}

func (c stuckContext) Done() <-chan struct{} { return c.done }

func (c stuckContext) Err() error {
	select {
	case <-c.done:
		return context.Canceled
	default:
		return nil
	}
}

// forgotten holds a cancel function that no code calls.
var forgotten []context.CancelFunc

// For goroutines of the standard library, a message has the usual cause.
func TestUsualCause(t *testing.T) {
	fillCut(t)
	parent := stuckContext{context.Background(), make(chan struct{})}
	defer func() { close(parent.done); forgotten = nil }()
	ft := &recordingT{name: "TestContext"}
	if leakcheck.AssertNoGrowth(ft, func() {
		_, cancel := context.WithCancel(parent)
		forgotten = append(forgotten[:0], cancel)
	}, leakcheck.Iterations(5)) {
		t.Fatal("passed")
	}
	wantParts(t, strings.Join(ft.errors, "\n"), "+1.00 goroutine/op", "    the usual cause: the cancel function of a context is not called\n")
}

// The command finds full recordings by the name of the function.
func TestRecordsTheLastBatch(t *testing.T) {
	if runtime.MemProfileRate <= 1 || flag.Lookup("test.memprofile").Value.String() != "" {
		t.Skip("the profiler is off, records everything, or is somebody else's")
	}
	before := runtime.MemProfileRate
	calls, below, recorded := 0, 0, 0
	var kept [][]byte
	t.Cleanup(func() { kept = nil })
	leakcheck.AssertNoGrowth(&recordingT{name: "TestOp"}, func() {
		kept = append(kept, make([]byte, 100))
		calls++
		if runtime.MemProfileRate == 1 {
			recorded++
		}
		stack := make([]uintptr, 50)
		frames := runtime.CallersFrames(stack[:runtime.Callers(1, stack)])
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Function == symbol.RecordingBatch {
				below++
			}
		}
	}, leakcheck.Iterations(10), leakcheck.Full())
	if calls != 10*(1+1+2+4+8) || recorded != 80 || below != 80 {
		t.Errorf("of %d calls, %d were recorded, %d by their stacks; want 80 of 160", calls, recorded, below)
	}
	if runtime.MemProfileRate != before {
		t.Errorf("the rate is %d now, and was %d", runtime.MemProfileRate, before)
	}
}
