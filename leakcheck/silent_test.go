package leakcheck_test

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

// An impatientT is a test with a timeout, as go test gives one to every test.
type impatientT struct{ recordingT }

func (t *impatientT) Deadline() (time.Time, bool) { return time.Now().Add(time.Hour), true }

// piece is the object that the programs below leave behind.
type piece [12]*piece

func (p *piece) drop() {}

// A service keeps pieces until it is closed.
type service struct{ pieces []*piece }

func (s *service) close() { s.pieces = nil }

// noRoundTrip returns a protocol of a type of the standard library: the path to it has no type of
// the program's.
func noRoundTrip() http.RoundTripper { return http.NewFileTransport(http.Dir(".")) }

// silentCalls counts calls of operations in all runs of the test, for actions that are possible
// only once.
var silentCalls int

// All growth is found, or named in the log. None of these programs may pass without a word.
func TestNothingGrowsSilently(t *testing.T) {
	fillCut(t)
	var fired atomic.Int64 // of NearTimer
	for i, tt := range []struct {
		name string
		op   func(t *testing.T) func()
		want string // in the failure; "": it passes
		logs string // what the log names
	}{
		{"Timeout", func(*testing.T) func() { return forgetTimeout }, " via timer(context.WithTimeout)", ""},
		{"NearTimer", func(*testing.T) func() {
			return func() {
				p := new(piece)
				time.AfterFunc(1200*time.Millisecond, func() { fired.Add(1); p.drop() })
			}
		}, "", "waited "},
		{"ChildOfTestContext", func(t *testing.T) func() {
			return func() {
				ctx, cancel := context.WithCancel(t.Context())
				_, _ = ctx, cancel
			}
		}, "+1.00 *context.cancelCtx/op", ""},
		{"AfterFuncOfTestContext", func(t *testing.T) func() {
			return func() { context.AfterFunc(t.Context(), func() {}) }
		}, "+1.00 *context.afterFuncCtx/op", ""},
		{"ServiceOfTestContext", func(t *testing.T) func() {
			s := &service{}
			context.AfterFunc(t.Context(), s.close)
			return func() { s.pieces = append(s.pieces, &piece{}) }
		}, "+1.00 *leakcheck_test.piece/op", ""},
		{"Cleanups", func(t *testing.T) func() {
			return func() { t.Cleanup(new(piece).drop) }
		}, "", "cleanups (functions registered with Cleanup)"},
		{"ClosedByCleanup", func(t *testing.T) func() {
			s := &service{}
			t.Cleanup(s.close)
			return func() { s.pieces = append(s.pieces, &piece{}) }
		}, ".(*service).close, which t.Cleanup keeps until the test ends", ""},
		{"ClosedByManyCleanups", func(t *testing.T) func() {
			s := &service{}
			return func() {
				s.pieces = append(s.pieces, &piece{})
				t.Cleanup(s.close)
			}
		}, "+1.00 *leakcheck_test.piece/op", "cleanups (functions registered with Cleanup)"},
		{"CancelledByCleanup", func(t *testing.T) func() {
			ctx, cancel := context.WithCancel(context.Background())
			t.Cleanup(cancel)
			return func() { context.AfterFunc(ctx, func() {}) }
		}, "+1.00 *context.afterFuncCtx/op", ""},
		{"Protocols", func(t *testing.T) func() {
			transport := http.DefaultTransport.(*http.Transport)
			return func() {
				silentCalls++
				transport.RegisterProtocol("leak"+strconv.Itoa(silentCalls), noRoundTrip())
			}
		}, "http.DefaultTransport.altProto", ""},
		{"Hosts", func(*testing.T) func() {
			return func() {
				silentCalls++
				if resp, err := http.Get("http://127.0.0.1:1/?" + strconv.Itoa(silentCalls)); err == nil {
					resp.Body.Close()
				}
				if resp, err := http.Get("http://127.0.0.2:" + strconv.Itoa(silentCalls+1) + "/"); err == nil {
					resp.Body.Close()
				}
			}
		}, "", "http.DefaultTransport.idleConnWait (a Transport keeps a record of each address that it was asked for)"},
		{"Environment", func(*testing.T) func() {
			return func() {
				for range 1000 {
					os.Setenv("LEAKCHECK_TEST", "x")
					os.Unsetenv("LEAKCHECK_TEST")
				}
			}
		}, "", "syscall.envs (a slot for each variable of the environment that is set again after it was unset)"},
		{"Accelerating", func(*testing.T) func() {
			var all []*piece
			n := 0
			return func() {
				for range n {
					all = append(all, &piece{})
				}
				n++
			}
		}, " *leakcheck_test.piece/op", ""},
		{"FillsUp", func(*testing.T) func() {
			var all []*piece
			return func() {
				if len(all) < 25 {
					all = append(all, &piece{})
				}
			}
		}, "", "less and less, and is no leak: via op."},
		{"ResurrectedByFinalizers", func(*testing.T) func() {
			var again func(*piece)
			again = func(p *piece) { runtime.SetFinalizer(p, again) }
			return func() { runtime.SetFinalizer(&piece{}, again) }
		}, "+1.00 ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if i%5 != 0 {
				require.Slow(t)
			}
			ft := &impatientT{recordingT{name: t.Name()}}
			ok := leakcheck.AssertNoGrowth(ft, tt.op(t), leakcheck.Iterations(10))
			message, log := strings.Join(ft.errors, "\n"), strings.Join(ft.logs, "\n")
			if tt.name == "NearTimer" && fired.Load() > 0 {
				// A slow machine has nothing to wait for; TestGrowthWaitsForTimers has the log.
				tt.logs = ""
			}
			if ok != (tt.want == "") || !strings.Contains(message, tt.want) || !strings.Contains(log, tt.logs) {
				t.Errorf("want %q, and %q in the log; passed is %v\n%s\nlog:\n%s", tt.want, tt.logs, ok, message, log)
			}
		})
	}
}

// Objects that only a timer keeps break a bound on their type. Timers of the assertion itself,
// which it has if the test has a timeout, do not.
func TestBoundOnTypeOfTimer(t *testing.T) {
	fillCut(t)
	var base *leakcheck.Baseline
	var ft *impatientT
	// A context that another test has left, and that ends between the two snapshots, is new among
	// the stopped timers, and said to be so.
	said := true
	for try := 0; said && try < 5; try++ {
		base = leakcheck.TakeBaseline(&recordingT{name: t.Name()})
		ft = &impatientT{recordingT{name: t.Name()}}
		if !leakcheck.AssertRetained(ft, leakcheck.TypeNamed("context.timerCtx").None(), leakcheck.Since(base)) {
			t.Error(ft.errors)
		}
		said = strings.Contains(strings.Join(ft.logs, "\n"), "not counted")
	}
	if said {
		t.Error(ft.logs)
	}
	forgetTimeout()
	if leakcheck.AssertRetained(ft, leakcheck.TypeNamed("leakcheck_test.timerOnly").None(), leakcheck.Since(base)) {
		t.Error("passed", ft.logs)
	}
	wantParts(t, strings.Join(ft.errors, "\n"), "found 1 object,", "timer(context.WithTimeout)")
}

// A timerOnly is what the timer of a context alone keeps. Contexts of other tests that end
// meanwhile do not make up for one that is new since a baseline.
type timerOnly struct{ _ *int }

// The timer is due only after all tests have ended.
//
//go:noinline
func forgetTimeout() {
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), timerOnly{}, &timerOnly{}), time.Hour)
	_, _ = ctx, cancel
}

// Options that several assertions share lie in data that the compiler makes, and a variable of the
// test refers to them.
var sharedOptions = []leakcheck.GrowthOption{leakcheck.Iterations(10), leakcheck.Warmup(10)}

func TestOptionsInAVariable(t *testing.T) {
	fillCut(t)
	ft := &recordingT{name: t.Name()}
	if !leakcheck.AssertNoGrowth(ft, func() {}, sharedOptions...) || strings.Contains(strings.Join(ft.logs, "\n"), "UNKNOWN") {
		t.Error(ft.errors, ft.logs)
	}
}
