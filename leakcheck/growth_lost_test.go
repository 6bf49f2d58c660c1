package leakcheck

import (
	"errors"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// TestGrowthOfLostResources checks that the verdict is unknown where resources can be read at
// first, and later not, unless something else grows.
func TestGrowthOfLostResources(t *testing.T) {
	const files, children = "temporary files: there are more than 20000", "child processes: no such file"
	for name, c := range map[string]struct {
		missing []string // at the snapshots, the last for all that follow
		grows   bool
		unknown bool
	}{
		"never":               {[]string{""}, false, false},
		"at first":            {[]string{files}, false, false},
		"at first alone":      {[]string{files, ""}, false, false},
		"later":               {[]string{"", files}, false, true},
		"in the middle":       {[]string{"", files, ""}, false, true},
		"another kind":        {[]string{files, children}, false, true},
		"for another reason":  {[]string{files, "temporary files: permission denied"}, false, false},
		"where memory grows":  {[]string{"", files}, true, false},
		"no list at one look": {[]string{"", "?", ""}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			figures := []int64{1, 1, 1, 1, 1, 1, 1}
			if c.grows {
				figures = []int64{250, 500, 1000, 2000, 4000, 4000, 4000}
			}
			w := newWorld(t, growing(sessions, figures...)...)
			n := 0
			w.Resources = func(string) (*ledger.Ledger, error) {
				why := c.missing[min(n, len(c.missing)-1)]
				if n++; why == "?" {
					return nil, errors.New("no list")
				}
				l := &ledger.Ledger{}
				if why != "" {
					l.Missing = []string{why}
				}
				return l, nil
			}
			ft, ok, _ := w.growth(nil)
			text := ft.errorText() + strings.Join(ft.logs, "\n")
			assert.Equal(t, !c.grows, ok, text)
			assert.Equal(t, c.unknown, strings.Contains(text, "it could be read at first, and later not: "), text)
		})
	}
}
