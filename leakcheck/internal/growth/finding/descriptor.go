package finding

import (
	"slices"

	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// WithDescriptors returns the growing branches whose objects have descriptors.
func (f *Finder) WithDescriptors() (found []*tree.Branch) {
	f.Last().Forest.Growth(f.First().Forest).All(func(b *tree.Branch) bool {
		if b.Objects > 0 && tree.Descriptors(b.Typ) != nil {
			found = append(found, b)
		}
		return true
	})
	return found
}

// descriptorsIn returns the branch whose objects have most of the descriptors of a resource; nil if
// they are not known, or none has half of them. A goroutine that uses a pipe comes before the
// cleanup that would close it.
func (f *Finder) descriptorsIn(r *Resource, grown tree.Forest) (best *tree.Branch) {
	if r.Kind != ledger.Descriptor || len(f.Descriptors) == 0 {
		return nil
	}
	is := make(map[int]bool)
	for _, it := range f.Last().Ledger.Program(r.Kind) {
		if it.Names[r.Level] == r.Name {
			is[it.Number] = true
		}
	}
	most := 0
	grown.All(func(b *tree.Branch) bool {
		n := 0
		for _, number := range f.Descriptors[b.GrowthKey()] {
			if is[number] {
				n++
			}
		}
		if n > most || n == most && n > 0 && message.IsSpecial(best.Root) && !message.IsSpecial(b.Root) {
			best, most = b, n
		}
		return true
	})
	if 2*int64(most) < r.Own.Grown() {
		return nil
	}
	return best
}

// withoutDescriptors returns the handles whose descriptors are not known.
func (f *Finder) withoutDescriptors(handles []*tree.Branch) []*tree.Branch {
	return slices.DeleteFunc(slices.Clone(handles), func(b *tree.Branch) bool { return len(f.Descriptors[b.GrowthKey()]) > 0 })
}
