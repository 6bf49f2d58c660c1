package leakcheck

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/golden"
)

var errNoTest = errors.New("the TestingT is nil")

// AssertRetained checks what the process keeps in memory at this moment. With bounds, each must hold.
// Without, all that the code under test retains is compared with the golden file
// testdata/leakcheck/<Test>.golden; see the package comment for how it is made and updated.
//
// It returns false if it failed the test, which goes on. The process is settled first (garbage
// collected, finalizers run, goroutines that are ending waited for), and what does not hold is looked at
// again, twice, before the test fails. Where nothing could be told, the verdict is unknown: see the
// package comment.
//
// It may be called several times in a test, also from tests that run in parallel; then other tests'
// memory counts too, unless Scope or Since keep it out. A call costs a few garbage collections, a pause
// of milliseconds, and a scan of the live heap.
func AssertRetained(t TestingT, opts ...Option) bool {
	if t == nil {
		fmt.Fprintln(os.Stderr, "leakcheck: AssertRetained:", errNoTest)
		return false
	}
	t.Helper()
	return thisProcess().assertRetained(t, callSite(1), opts)
}

func (c *checker) assertRetained(t TestingT, at site, opts []Option) bool {
	t.Helper()
	a := &assertion{checker: c, t: t, env: c.environment(), req: newRequest(opts), test: testName(t), at: at}
	if !a.req.bounded() && len(a.req.problems) == 0 {
		var err error
		if a.file, err = goldenFile(t, a.test, a.req.golden); err != nil {
			a.req.problem("%v", err)
		}
	}
	o := a.judge()
	a.keep(o)
	return o.report(t)
}

// goldenFile returns the name of the golden file: the given one, or the test's. The second comparison of
// a test has <Test>~2.golden, and so on in order of calls.
func goldenFile(t TestingT, test, given string) (string, error) {
	if given != "" {
		return golden.FileName(given)
	}
	if test == "" {
		return "", errors.New("the test has no name to call its golden file after; give one with Golden")
	}
	file, err := golden.FileName(test)
	if err != nil {
		return "", err
	}
	if n := nthComparison(t, test); n > 1 {
		file = fmt.Sprintf("%s~%d%s", strings.TrimSuffix(file, golden.Extension), n, golden.Extension)
	}
	return file, nil
}

// comparisons counts the golden comparisons of the tests that are running, by name.
var comparisons struct {
	sync.Mutex
	of map[string]int
}

// nthComparison counts from 1. Without Cleanup there is no telling a test's second comparison from the
// first one of its next run (-count), so every one is the first.
func nthComparison(t TestingT, test string) int {
	c, ok := t.(cleaner)
	if !ok {
		return 1
	}
	comparisons.Lock()
	defer comparisons.Unlock()
	if comparisons.of == nil {
		comparisons.of = make(map[string]int)
	}
	comparisons.of[test]++
	n := comparisons.of[test]
	if n == 1 {
		c.Cleanup(func() {
			comparisons.Lock()
			defer comparisons.Unlock()
			delete(comparisons.of, test)
		})
	}
	return n
}
