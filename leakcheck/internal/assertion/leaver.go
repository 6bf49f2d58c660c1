package assertion

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
)

// Bounds are about the process, whoever filled it. Where one is broken, a process of the test's own
// tells which share the test has in it, and others which test left the rest.

// leaverAtMost is for how long a process looks for what other tests have in broken bounds.
const leaverAtMost = 30 * time.Second

// looked is for how long this process has looked for them.
var looked atomic.Int64

// share says which part of broken bounds this test has, by its process of its own; "" if that is
// no other than here, no other test can have a part in it, or the time for this is over.
func (l *looks) share(e *check.Evaluation) string {
	if t := fmt.Sprintf("%T", l.T); t != "*testing.T" && t != "*testing.F" || l.Req.Baseline != nil || !l.wantsProcess() {
		return ""
	}
	if time.Duration(looked.Load()) > leaverAtMost {
		return ""
	}
	start := l.Now()
	own, _, isSubtest := strings.Cut(l.Test, "/")
	before, known := l.testsBefore(own)
	if known && len(before) == 0 && !isSubtest && l.Env.Selected.Once && running() == "" {
		return ""
	}
	alone, err := l.RunAlone(l.Assertion)
	looked.Add(int64(l.Now().Sub(start)))
	if err == nil {
		err = alone.Err
	}
	switch _, here := e.Broken(); {
	case err != nil:
		cause, _ := causeAndRemedy(err)
		return "what other tests left may count: this test could not be judged in a process of its own: " + cause
	case alone.Verdict == verdict.Pass:
		return "run alone, in a process of its own, this test passes: what breaks the bound was left by " + l.leaver(before)
	case alone.broken != here:
		return "run alone, in a process of its own, this test has of it: " + alone.broken
	}
	return ""
}

// leaver names the test that left what breaks the bounds of this one, which passes when it runs
// alone. It runs this test behind fewer and fewer of those before it.
func (a *Assertion) leaver(before []string) string {
	own, _, isSubtest := strings.Cut(a.Test, "/")
	// breaks reports whether the bound is broken behind the tests; known is false if that cannot be
	// told, or the time is over.
	breaks := func(tests []string, times int) (broken, known bool) {
		left, start := leaverAtMost-time.Duration(looked.Load()), a.Now()
		if left < time.Second || !a.Time.Allows(2*left) {
			return false, false
		}
		o, err := a.inProcess("^("+strings.Join(append(tests[:len(tests):len(tests)], own), "|")+")$", times, left)
		looked.Add(int64(a.Now().Sub(start)))
		return err == nil && o.Verdict == verdict.Fail && !o.Misuse, err == nil
	}
	if isSubtest {
		if broken, _ := breaks(nil, 1); broken {
			return "another subtest of " + own
		}
	}
	if !a.Env.Selected.Once {
		if broken, _ := breaks(nil, 2); broken {
			return "an earlier run of the same test"
		}
	}
	if len(before) == 0 {
		return "another test"
	}
	if broken, _ := breaks(before, 1); !broken {
		return "another test"
	}
	// The bound holds behind the first low tests, and is broken behind the first high ones.
	low, high := 0, len(before)
	for high-low > 1 {
		middle := (low + high) / 2
		switch broken, known := breaks(before[:middle], 1); {
		case !known:
			return "another test: one of those from " + before[low] + " to " + before[high-1]
		case broken:
			high = middle
		default:
			low = middle
		}
	}
	last := before[high-1]
	if high > 1 {
		if broken, known := breaks(before[high-1:high], 1); !known || !broken {
			return last + " and tests before it"
		}
	}
	return last
}

// testsBefore returns the tests that have run before one, in the order of the source, as far as
// flags tell; none and false if they do not.
func (a *Assertion) testsBefore(test string) (names []string, known bool) {
	selected, err := regexp.Compile(a.Env.Selected.Run)
	if err != nil || strings.Contains(a.Env.Selected.Run, "/") {
		return nil, false
	}
	dir, list, err := a.start(aloneAtLeast, "-test.list=^(Test|Fuzz)")
	os.RemoveAll(dir)
	text, _, found := strings.Cut("\n"+list, "\n"+test+"\n")
	if err != nil || !found {
		return nil, false
	}
	return slices.DeleteFunc(strings.Fields(text), func(name string) bool {
		return regexp.QuoteMeta(name) != name || !selected.MatchString(name) // a TestMain may print other words
	}), true
}
