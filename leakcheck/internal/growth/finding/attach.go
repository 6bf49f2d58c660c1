package finding

import (
	"slices"
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// addResources adds the growing operating system resources to the leaks. A resource that comes with
// a leak on the heap, or with goroutines, becomes part of that leak. grown is all growth.
func addResources(f *Finder, leaks []*Leak, grown tree.Forest) []*Leak {
	all := f.Resources()
	if len(all) == 0 {
		return leaks
	}
	found, ignored := handles(f)
	ofIgnored := areOf(f, all, ignored)
	var alone []*Leak
	for _, r := range all {
		if ignoresResource(f, r) || ofIgnored(r) {
			continue
		}
		if r.Holder = f.descriptorsIn(r, grown); r.Holder == nil {
			r.Holder = r.handleIn(f.withoutDescriptors(found))
		}
		l := leakOf(f, r, leaks)
		if l == nil {
			l = leakWith(r, alone)
		}
		switch {
		case l != nil && l.Goroutines != nil && !l.Deepens && r.Kind == ledger.Stack:
			// every goroutine has a stack, so the message omits it
		case l != nil:
			l.Resources = append(l.Resources, r)
		case len(f.Req.Scope) == 0: // a Scope excludes it: its owner is unknown
			alone = append(alone, &Leak{Resources: []*Resource{r}})
		}
	}
	return append(foldMapper(leaks), alone...)
}

// areOf returns a function that reports whether a resource belongs to handles, by its growth. If
// all resources that may belong to them, and that no Ignore names, are more than there are handles,
// it is not known which do, and none is said to.
func areOf(f *Finder, all []*Resource, handles []*tree.Branch) func(*Resource) bool {
	left := make(map[ledger.Kind]int64)
	for _, b := range handles {
		switch {
		case !isProcess(b):
			left[ledger.Descriptor] += b.Objects
		case strings.HasSuffix(b.Typ, "os.Process"): // which has the process's handle
			left[ledger.Process] += b.Objects
		}
	}
	for _, r := range all {
		if r.handleIn(handles) != nil && r.Name != pidfd && !ignoresResource(f, r) {
			left[r.Kind] -= r.Own.Grown()
		}
	}
	return func(r *Resource) bool { return r.handleIn(handles) != nil && left[r.Kind] >= 0 }
}

// ignoresResource reports whether an Ignore names the resource: "socket to 127.0.0.1:*".
func ignoresResource(f *Finder, r *Resource) bool {
	for _, i := range f.Req.Ignores {
		if i.Pattern.MatchWhole(r.Name) {
			return true
		}
	}
	return false
}

// foldMapper moves the growth of the record of all mappings behind the leak that they belong to.
func foldMapper(leaks []*Leak) []*Leak {
	var owner *Leak
	for _, l := range leaks {
		if len(l.Heads) > 0 && !l.IsMapper() && slices.ContainsFunc(l.Resources, func(r *Resource) bool { return r.Kind == ledger.Mapping }) {
			owner = l
		}
	}
	if owner == nil {
		return leaks
	}
	var others []*Leak
	for _, l := range leaks {
		if l.IsMapper() && l.Goroutines == nil {
			owner.With = append(owner.With, l)
		} else {
			others = append(others, l)
		}
	}
	return others
}

// handles returns the growing branches whose objects stand for descriptors or processes, and those
// of them that an Ignore leaves out.
func handles(f *Finder) (found, ignored []*tree.Branch) {
	of := func(f tree.Forest) (found []*tree.Branch) {
		f.All(func(b *tree.Branch) bool {
			if b.Objects > 0 && slices.Contains(tree.HandleTypes, strings.TrimLeft(b.Typ, "*")) {
				found = append(found, b)
			}
			return true
		})
		return found
	}
	found = of(f.Last().Forest.Growth(f.First().Forest))
	if len(f.Req.Ignores) == 0 {
		return found, nil
	}
	for _, b := range of(tree.NameHeldOps(f.Last().Eval.Everything).Growth(tree.NameHeldOps(f.First().Eval.Everything))) {
		if !slices.ContainsFunc(found, func(f *tree.Branch) bool { return f.GrowthKey() == b.GrowthKey() }) {
			ignored = append(ignored, b)
		}
	}
	return found, ignored
}

// handleIn returns a branch that grew in step with the resource, preferably by exactly as many
// objects; nil if there is none.
func (r *Resource) handleIn(handles []*tree.Branch) *tree.Branch {
	var best *tree.Branch
	for _, b := range handles {
		switch {
		case r.Kind != ledger.Process && r.Kind != ledger.Descriptor, r.Kind == ledger.Process && !isProcess(b):
		case isProcess(b) && r.Kind == ledger.Descriptor && r.Name != pidfd:
		case !series.KeepStep(float64(b.Objects), float64(r.Own.Grown())):
		case best == nil || b.Objects == r.Own.Grown() && best.Objects != r.Own.Grown():
			best = b
		}
	}
	return best
}

// pidfd is the name of a descriptor that stands for a process.
const pidfd = "pidfd"

// isProcess reports whether the objects of a branch stand for child processes.
func isProcess(b *tree.Branch) bool {
	return strings.HasPrefix(strings.TrimLeft(b.Typ, "*"), "os.Process") || strings.HasSuffix(b.Typ, "os.processHandle")
}

// leakOf returns the leak on the heap or of goroutines that a resource comes with; nil if there is
// none. That is the leak with the objects that stand for the resource, or the one whose objects
// hold the native blocks. Otherwise it is goroutines that pile up with the resource, or else heap
// growth that is in step with it and may hold its number.
func leakOf(f *Finder, r *Resource, leaks []*Leak) *Leak {
	if r.Holder != nil {
		root := r.Holder.Line()[0]
		for _, l := range leaks {
			for _, with := range append([]*Leak{l}, l.With...) {
				if slices.ContainsFunc(with.Heads, func(h *tree.Branch) bool { return h.Line()[0].GrowthKey() == root.GrowthKey() }) {
					return l
				}
			}
		}
	}
	for _, l := range leaks {
		if holdsNative(f, l, r) {
			return l
		}
	}
	inStep := func(l *Leak) bool { return series.KeepStep(l.PerCall(), r.Own.PerCall()) }
	for _, l := range leaks {
		if l.Goroutines != nil && (r.Kind == ledger.Stack || inStep(l) || r.Kind == ledger.Thread && series.AboutAsMany(l.PerCall(), r.Own.PerCall())) {
			return l
		}
	}
	for _, l := range leaks {
		if l.Goroutines != nil || l.Heads[0].IsMissed() {
			continue
		}
		if r.Kind.InBytes() || inStep(l) || r.Kind == ledger.Native && series.IsMultiple(r.Own.PerCall(), l.PerCall()) || l.Measure == InBytes && (inWords(l, r, 8) || inWords(l, r, 4)) {
			return l
		}
	}
	return nil
}

// holdsNative reports whether Go objects that grow with the leak hold most of the growing native
// blocks.
func holdsNative(f *Finder, l *Leak, r *Resource) bool {
	h := f.Holders
	return r.Native != nil && h != nil && h.Found != nil && len(l.Heads) > 0 && native.MostBelow(h.Found, l.Heads[0].Path)
}

// inWords reports whether the leak grows by about size bytes for each new resource. A factor of 2
// is left for the steps in which slices grow.
func inWords(l *Leak, r *Resource, size float64) bool {
	ratio := l.Own.PerCall() / (size * r.Own.PerCall())
	return ratio > 0.5 && ratio < 2
}

// leakWith returns the leak of resources that r comes with, nil if there is none: one that grows as
// fast. Rates in bytes and in numbers cannot be compared and count as equal.
func leakWith(r *Resource, leaks []*Leak) *Leak {
	for _, l := range leaks {
		if first := l.Resources[0]; r.Kind.InBytes() != first.Kind.InBytes() || series.KeepStep(first.Own.PerCall(), r.Own.PerCall()) {
			return l
		}
	}
	return nil
}
