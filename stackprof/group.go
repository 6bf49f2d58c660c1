package stackprof

import "github.com/leakgate/leakgate/refscan"

// group is the goroutines with the same stack trace and the same labels.
type group struct {
	trace  *refscan.StackTrace
	entry  string
	system bool
	labels []refscan.StackLabel

	count int64
	free  int64 // bytes of all
}

type groupKey struct {
	trace  *refscan.StackTrace
	entry  string // tells traces without frames apart
	labels *refscan.StackLabel
	system bool
}

// groups sums goroutines up, in the order of the first of each group.
func groups(goroutines []*refscan.GoroutineStack) []*group {
	index := make(map[groupKey]*group)
	var out []*group
	for _, g := range goroutines {
		key := groupKey{trace: g.Trace, entry: g.Entry, system: g.System}
		if len(g.Labels) > 0 {
			key.labels = &g.Labels[0] // goroutines share slices
		}
		sum := index[key]
		if sum == nil {
			sum = &group{trace: g.Trace, entry: g.Entry, system: g.System, labels: g.Labels}
			index[key] = sum
			out = append(out, sum)
		}
		sum.count++
		sum.free += g.Free()
	}
	return out
}
