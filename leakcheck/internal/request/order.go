package request

import (
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// OrderOf returns the order in which roots claim objects for a request: what the request leaves out
// comes last, what tests hold before that, and for a golden file what goroutines hold before that.
func OrderOf(r *Request, s tree.Scope) *refscan.Order {
	o := &refscan.Order{
		PackagesFirst: !r.Bounded(), TestsLast: true,
		LeftOutPath: func(path string, info *refscan.RootInfo) bool {
			path = symbol.Unescape(path)
			return tree.Ignores(r.Ignores, path, nil) || tree.MayBeKept(path, info)
		},
	}
	if len(s.Packages)+len(r.Ignores) > 0 {
		o.LeftOut = func(name string, info *refscan.RootInfo) bool {
			return len(s.Packages) > 0 && info.Kind != refscan.RootTimer && !s.Includes(info) || tree.Ignores(r.Ignores, symbol.Unescape(name), info)
		}
	}
	return o
}

// HeldQuery returns the query for what the selector's nodes hold; nil if the selector is of types.
func (s *Selector) HeldQuery() refscan.Query {
	switch s.Kind {
	case selectRoot:
		return func(path string, info *refscan.RootInfo) refscan.Match {
			if s.isRoot(symbol.Unescape(path), info) {
				return refscan.Selected
			}
			return refscan.NoMatch
		}
	case SelectPath:
		return func(path string, _ *refscan.RootInfo) refscan.Match {
			path = symbol.FoldPath(symbol.Unescape(path))
			switch {
			case s.passesBy(path):
			case s.Path.MatchPrefix(path):
				return refscan.Selected
			case s.Path.MatchBelow(path):
				return refscan.Before
			}
			return refscan.NoMatch
		}
	}
	return nil
}

// isRoot reports whether a selector of roots selects a root.
func (s *Selector) isRoot(name string, info *refscan.RootInfo) bool {
	return !s.passesBy(name) && (s.Path.MatchWhole(name) || info.Kind == refscan.RootFrame && s.Path.MatchPrefix(name) || tree.StartedIn(info, s.Path))
}

// passesBy reports whether a selector does not mean a path that its pattern may match: wildcards
// are not for the alarm of go test, which no test can end.
func (s *Selector) passesBy(path string) bool {
	return !s.Path.Plain() && strings.HasPrefix(path, symbol.AlarmTimer)
}
