package leakcheck

import "fmt"

// An ignoring is one Ignore option.
type ignoring struct {
	pattern pattern
	reason  string
}

// An ignored is what an Ignore left out of one observation.
type ignored struct {
	ignoring
	tally
	paths int
}

// String says what was left out: "2 objects, 96 B at app.debug (only in tests)".
func (i ignored) String() string {
	where := i.pattern.text
	if i.paths > 1 {
		where = fmt.Sprintf("%s (%d paths)", where, i.paths)
	}
	return fmt.Sprintf("%s, %s at %s: %s", countNoun(i.objects, "object"), byteCount(i.bytes), where, i.reason)
}

// applyIgnores cuts what the ignores match. Where several match one branch, the first has it.
func applyIgnores(f forest, ignores []ignoring) (forest, []ignored) {
	if len(ignores) == 0 {
		return f, nil
	}
	left := make([]ignored, len(ignores))
	for i, ig := range ignores {
		left[i].ignoring = ig
	}
	rest, _ := f.without(func(b *branch) bool {
		for i, ig := range ignores {
			if b.isAt(ig.pattern) {
				left[i].tally = left[i].plus(b.total)
				left[i].paths++
				return true
			}
		}
		return false
	})
	return rest, left
}

// isAt reports whether a pattern of paths, roots or functions means this branch.
func (b *branch) isAt(p pattern) bool {
	return p.matchPrefix(b.path) || b.parent == nil && b.startedIn(p)
}
