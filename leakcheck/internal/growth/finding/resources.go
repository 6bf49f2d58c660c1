package finding

import (
	"cmp"
	"slices"
	"sort"

	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// Resources returns the growing resources, after the snapshots so far. Those that grow under an
// exact name come first. Of the rest, resources that share a rougher name may grow together though
// none does by itself, such as connections to servers that each had another port.
func (f *Finder) Resources() []*Resource {
	if slices.ContainsFunc(f.Snapshots, func(m *Snapshot) bool { return m.Ledger == nil }) {
		return nil
	}
	var found []*Resource
	for _, kind := range ledger.Kinds() {
		if kind.OfMalloc() && !f.knowsNative() {
			continue
		}
		explained := make(map[string]bool) // exact names of resources found so far
		for level := range ledger.Levels {
			sizes := make(map[*Snapshot]map[string]int64)
			for m := range f.All() {
				sizes[m] = m.Ledger.Sizes(kind, level, explained)
			}
			var grown []*Resource
			for name := range sizes[f.Last()] {
				r := &Resource{Kind: kind, Level: level, Name: name}
				r.Own = f.Series(func(m *Snapshot) int64 { return sizes[m][name] })
				f.mappedInCalls(r)
				if r.keepsPace() && !(kind.OfMalloc() && f.isOfThreads(r)) {
					grown = append(grown, r)
				}
			}
			sort.Slice(grown, func(i, j int) bool {
				a, b := grown[i], grown[j]
				return cmp.Or(cmp.Compare(b.Own.Grown(), a.Own.Grown()), cmp.Compare(a.Name, b.Name)) < 0
			})
			for _, r := range grown {
				r.State = f.Last().Ledger.Explain(kind, level, r.Name, explained)
			}
			found = append(found, grown...)
		}
	}
	return f.foldNative(found)
}

// isOfThreads reports whether growth over all batches may be what libraries keep for threads that
// did not exist at first. After fewer batches it returns false, since a leak may have come to no
// more than that, too.
func (f *Finder) isOfThreads(r *Resource) bool {
	if len(f.Snapshots) <= series.Intervals {
		return false
	}
	more := int64(max(0, f.Last().Native.Threads-f.First().Native.Threads))
	if r.Kind == ledger.NativeBytes {
		return r.Own.Grown() < more*bytesOfThread
	}
	return r.Own.Grown() < more*blocksOfThread && r.Own.PerCall() < 1
}

// Mapping returns the anonymous memory that grew with the calls of each batch so far; nil if none
// did. It may be gone by the next snapshot, or belong to a sanitizer.
func (f *Finder) Mapping() *Resource {
	r := &Resource{Kind: ledger.Mapping, Name: ledger.Anonymous, Own: f.Series(func(m *Snapshot) int64 { return m.Mapped })}
	if !r.keepsPace() {
		return nil
	}
	return r
}

// mappedInCalls replaces the series of anonymous memory by that of the calls alone, if the
// snapshots' series does not keep pace and most of what the calls have mapped is still there at the
// end.
func (f *Finder) mappedInCalls(r *Resource) {
	if r.Kind != ledger.Mapping || r.Name != ledger.Anonymous || r.keepsPace() {
		return
	}
	if m := f.Mapping(); m != nil && mostlyRetained(&r.Own, &m.Own) {
		r.Own = m.Own
	}
}

// mostlyRetained reports whether most of the memory that calls have mapped is still there at the
// end. It leaves out the one interval between snapshots that lost most: other memory that was
// returned meanwhile hides how much stayed, and a thread's stack of 8 MiB hides the growth of
// several batches. Memory of op's own that goes between snapshots goes in each interval.
func mostlyRetained(all, mapped *series.Series) bool {
	if 2*all.Grown() >= mapped.Grown() {
		return true
	}
	worst := 1
	step := func(s *series.Series, i int) int64 { return s.Values[i] - s.Values[i-1] }
	lost := func(i int) int64 { return step(mapped, i) - step(all, i) }
	for i := 1; i < len(all.Values); i++ {
		if lost(i) > lost(worst) {
			worst = i
		}
	}
	return 2*(all.Grown()-step(all, worst)) >= mapped.Grown()-step(mapped, worst)
}

// ResourceSeries is the series of a resource over all snapshots so far.
func (f *Finder) ResourceSeries(r *Resource) series.Series {
	return f.Series(func(m *Snapshot) int64 {
		if m.Ledger == nil {
			return 0
		}
		if r.Native != nil {
			return r.Native.count(m)
		}
		return m.Ledger.Sizes(r.Kind, r.Level, nil)[r.Name]
	})
}

// knowsNative reports whether all snapshots have the figures of native memory.
func (f *Finder) knowsNative() bool {
	return !slices.ContainsFunc(f.Snapshots, func(m *Snapshot) bool { return m.Native == nil })
}
