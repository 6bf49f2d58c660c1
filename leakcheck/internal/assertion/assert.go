package assertion

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

func (c *Checker) AssertRetained(t environ.TestingT, at environ.Site, req *request.Request) bool {
	t.Helper()
	a := c.Begin(t, at, req)
	if !a.Req.Bounded() && len(a.Req.Problems) == 0 {
		var err error
		if a.file, err = GoldenFile(t, a.Test, a.Req.Golden, ""); err != nil {
			a.Req.Problem("%v", err)
		}
	}
	o := a.Judge()
	a.Keep(o)
	if a.Env.Alone != "" && a.key() != "" {
		if err := a.leaveOutcome(o); err != nil {
			o.Notes = append(o.Notes, err.Error())
		}
	}
	return o.Report(t)
}

// GoldenFile returns the name of the golden file: the given name, or the test's name with a
// variant, such as <Test>~go1.26.golden for what op allocates with Go 1.26. The second comparison
// of a test has <Test>~2.golden, and so on in order of calls, for each variant.
func GoldenFile(t environ.TestingT, test, given, variant string) (string, error) {
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
	file = strings.TrimSuffix(file, golden.Extension) + variant
	if n := nthComparison(t, test+variant); n > 1 {
		file += fmt.Sprintf("~%d", n)
	}
	return file + golden.Extension, nil
}

// comparisons counts the golden comparisons of the tests that are running, by name.
var comparisons struct {
	sync.Mutex
	of map[string]int
}

// nthComparison returns the number of a test's comparison, from 1. Without Cleanup it always
// returns 1, since it cannot tell a test's second comparison from the first one of its next run
// (-count).
func nthComparison(t environ.TestingT, test string) int {
	c, ok := t.(environ.Cleaner)
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
