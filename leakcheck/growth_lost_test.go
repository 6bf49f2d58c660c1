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
	nothing, noList := ledger.Unread{}, ledger.Unread{Err: errors.New("no list")}
	files := ledger.Unread{Kind: ledger.File, Err: errors.New("there are more than 20000")}
	forbidden := ledger.Unread{Kind: ledger.File, Err: errors.New("permission denied")}
	children := ledger.Unread{Kind: ledger.Process, Err: errors.New("no such file")}
	for name, c := range map[string]struct {
		missing []ledger.Unread // at the snapshots, the last for all that follow
		grows   bool
		unknown bool
	}{
		"never":               {[]ledger.Unread{nothing}, false, false},
		"at first":            {[]ledger.Unread{files}, false, false},
		"at first alone":      {[]ledger.Unread{files, nothing}, false, false},
		"later":               {[]ledger.Unread{nothing, files}, false, true},
		"in the middle":       {[]ledger.Unread{nothing, files, nothing}, false, true},
		"another kind":        {[]ledger.Unread{files, children}, false, true},
		"for another reason":  {[]ledger.Unread{files, forbidden}, false, false},
		"where memory grows":  {[]ledger.Unread{nothing, files}, true, false},
		"no list at one look": {[]ledger.Unread{nothing, noList, nothing}, false, false},
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
				if n++; why == noList {
					return nil, why
				}
				l := &ledger.Ledger{}
				if why != nothing {
					l.Missing = []ledger.Unread{why}
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
