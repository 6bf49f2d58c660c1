package present

import (
	"cmp"
	"fmt"
	"math"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// worstBound returns the bound of a that is broken by most or, if none is broken, the one that is
// closest to its limit.
func worstBound(a *outcome.Assertion) string {
	worst, worstRatio := "", -1.0
	for _, bound := range a.Bounds {
		for _, limit := range limits(bound) {
			if r := limit.ratio(bound.Verdict == verdict.Fail); r > worstRatio {
				worst, worstRatio = bound.Selector+" "+cmp.Or(bound.Growth, limit.text()), r
				if bound.Beyond != "" {
					worst += "; also leads to " + bound.Beyond
				}
			}
		}
	}
	switch {
	case worst == "" && a.Golden != nil && a.Golden.Status == outcome.GoldenNew:
		return "not in the base"
	case worst == "" && a.Golden != nil:
		return "golden " + a.Golden.Status
	case a.Golden != nil && a.Golden.Status == "mismatch" && worstRatio <= 1:
		return "golden mismatch"
	case worst == "":
		return "-"
	}
	return worst
}

// A limit is one figure of a bound: objects or bytes, charged or retained.
type limit struct {
	found, most int64
	unit        func(int64) string
}

func limits(b verdict.Bound) []limit {
	var ls []limit
	if b.MaxObjects != nil {
		ls = append(ls, limit{b.Objects, *b.MaxObjects, func(n int64) string { return Plural(n, "object") }})
	}
	if b.MaxBytes != nil {
		ls = append(ls, limit{b.Bytes, *b.MaxBytes, Bytes})
	}
	if b.MaxRetainedObjects != nil {
		ls = append(ls, limit{b.RetainedObjects, *b.MaxRetainedObjects, func(n int64) string { return Plural(n, "retained object") }})
	}
	if b.MaxRetainedBytes != nil {
		ls = append(ls, limit{b.RetainedBytes, *b.MaxRetainedBytes, func(n int64) string { return Bytes(n) + " retained" }})
	}
	return ls
}

// ratio orders limits by found/most; limits of a broken bound that are exceeded come after all
// others. With most 0, any found is worse than every ratio, and more found is worse.
func (l limit) ratio(failed bool) float64 {
	var r float64
	switch {
	case l.found == 0:
	case l.most <= 0:
		r = math.MaxInt64 + float64(l.found)
	default:
		r = float64(l.found) / float64(l.most)
	}
	if failed && l.found > l.most {
		r += math.MaxInt64
	}
	return r
}

func (l limit) text() string {
	if l.most == 0 {
		return fmt.Sprintf("%s, none allowed", l.unit(l.found))
	}
	return fmt.Sprintf("%s, at most %s", l.unit(l.found), l.unit(l.most))
}
