package leakcheck_test

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

// An endingT is a test that can also end.
type endingT struct {
	failingT
	skipped bool
}

func (t *endingT) Skipped() bool { return t.skipped }

func (t *endingT) fatal() {
	t.Errorf("op's own")
	runtime.Goexit()
}

// An op that leaves something behind may meet a limit before snapshots show the leak. The log says
// what piled up until then.
func TestWhatOpLeftBeforeItFailed(t *testing.T) {
	fillCut(t)
	const calls = 20
	notify := func(t *testing.T) {
		fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Close(fd) })
	}
	files := func(t *testing.T) {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
	}
	start := func(t *testing.T) {
		c := make(chan int)
		go func() { <-c }()
		t.Cleanup(func() { close(c) })
	}
	const notified, started = "20 descriptors were opened and not closed (20 of inotify)", "20 goroutines were started and have not ended"
	time.Sleep(20 * time.Millisecond)    // goroutines of other tests end
	before := runtime.NumGoroutine() + 1 // with that of a row
	for _, tt := range []struct {
		name  string
		leave func(t *testing.T)
		end   func(ft *endingT)
		want  string // "": no log at all
	}{
		{"error", notify, func(ft *endingT) { ft.Errorf("op's own") }, "op failed the test in call 20; until then " + notified + "; if that met a limit, let op close what it opens"},
		{"fatal", notify, (*endingT).fatal, "op failed the test in call 20; until then " + notified},
		{"panic", notify, func(*endingT) { panic("op's own") }, "op did not return from call 20; until then " + notified},
		{"goroutines", start, (*endingT).fatal, "until then " + started},
		{"both", func(t *testing.T) { notify(t); start(t) }, (*endingT).fatal, "until then " + notified + ", and " + started},
		{"various", files, (*endingT).fatal, "until then 20 descriptors were opened and not closed (1 of /"},
		{"nothing", func(*testing.T) {}, (*endingT).fatal, "op failed the test in call 20\n"},
		{"skip", notify, func(ft *endingT) { ft.skipped = true; runtime.Goexit() }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// The goroutines of the row before, the one that ran it among them, would end
			// meanwhile.
			for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			ft := &endingT{failingT: failingT{recordingT{name: "TestOp"}}}
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				n := 0
				leakcheck.AssertNoGrowth(ft, func() {
					tt.leave(t)
					if n++; n == calls {
						tt.end(ft)
					}
				}, leakcheck.Iterations(300))
			}()
			if got := <-done; (got != nil) != (tt.name == "panic") || got != nil && got != "op's own" {
				t.Error("panic:", got)
			}
			log := strings.Join(ft.logs, "\n") + "\n"
			if tt.want == "" {
				if log != "\n" {
					t.Error(log)
				}
				return
			}
			if strings.Count(log, "whether memory grows was not checked") != 1 || !strings.Contains(log, tt.want) {
				t.Errorf("no %q in %s", tt.want, log)
			}
		})
	}
}
