package finding

import (
	"slices"
	"sort"

	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
)

// add adds blocks of one size, or of all sizes that have not been added.
func (n *NativeGrowth) add(r *Resource, first, last *native.Heap, named map[string]bool) {
	exact := r.Level == 0
	of := func(size int64) bool {
		return exact == (native.SizeName(size) == r.Name) && !named[native.SizeName(size)]
	}
	mapped := exact && r.Name == native.MappedBlocks || !exact && !named[native.MappedBlocks]
	before := make(map[string]bool)
	for name := range named {
		before[name] = true
	}
	n.counts = append(n.counts, func(m *Snapshot) (sum int64) {
		for size, count := range m.Native.Sizes {
			if name := native.SizeName(size); exact && name == r.Name || !exact && !before[name] {
				sum += count
			}
		}
		if mapped {
			sum += m.Native.Mapped
		}
		return sum
	})
	for size, count := range last.Sizes {
		if added := count - first.Sizes[size]; of(size) {
			n.Bytes += size * added
			if added > 0 {
				n.Sizes = append(n.Sizes, BlockSize{size, added})
			}
		}
	}
	for size, count := range first.Sizes {
		if last.Sizes[size] == 0 && of(size) {
			n.Bytes -= size * count
		}
	}
	if added := last.Mapped - first.Mapped; mapped && added > 0 {
		bytes := last.MappedBytes - first.MappedBytes
		n.Bytes += bytes
		n.Sizes = append(n.Sizes, BlockSize{bytes / added, added})
	}
	named[r.Name] = true
}

// addLarger counts the blocks that are one step larger with those of a size, if that brings the
// number for each call nearer to a whole one. malloc gives away a whole free block if no block fits
// into the rest (glibc 2.36 malloc/malloc.c, _int_malloc: remainder_size < MINSIZE).
func (f *Finder) addLarger(n *NativeGrowth, named map[string]bool) {
	const (
		step  = 16 // malloc.c, MALLOC_ALIGNMENT
		least = 8  // blocks of the size asked for, for each larger one
	)
	first, last := f.First(), f.Last()
	calls := last.Calls - first.Calls
	off := func(blocks int64) int64 { return min(blocks%calls, calls-blocks%calls) }
	for i := range n.Sizes {
		s := &n.Sizes[i]
		larger := s.Size + step
		more := last.Native.Sizes[larger] - first.Native.Sizes[larger]
		if name := native.SizeName(larger); more > 0 && !named[name] && least*more <= s.Added && off(s.Added+more) < off(s.Added) {
			named[name] = true
			n.counts = append(n.counts, func(m *Snapshot) int64 { return m.Native.Sizes[larger] })
			n.Bytes += larger * more
			s.Added += more
		}
	}
}

// foldNative combines the growing resources of native memory, by block size, into one. That one is
// in bytes alone only if blocks do not grow. foldNative drops anonymous mappings that are mostly
// malloc's large blocks.
func (f *Finder) foldNative(all []*Resource) []*Resource {
	if !slices.ContainsFunc(all, func(r *Resource) bool { return r.Kind.OfMalloc() }) {
		return all
	}
	var folded *Resource
	n := &NativeGrowth{}
	first, last := f.First().Native, f.Last().Native
	var rest, blocks []*Resource
	for _, r := range all {
		switch {
		case r.Kind == ledger.NativeBytes && folded == nil:
			folded = &Resource{Kind: r.Kind, Level: r.Level, Name: r.Name, Own: r.Own}
			n.Bytes = r.Own.Grown()
			n.counts = append(n.counts, func(m *Snapshot) int64 { return m.Native.Bytes })
		case r.Kind == ledger.NativeBytes:
		case r.Kind == ledger.Native:
			if folded == nil {
				folded = &Resource{Kind: r.Kind, Level: ledger.Levels - 1, Name: ledger.NativeBlocks}
			}
			blocks = append(blocks, r)
		default:
			rest = append(rest, r)
		}
	}
	named := make(map[string]bool)
	for i, r := range blocks { // exact sizes come first, then names that several sizes share
		n.add(r, first, last, named)
		if next := i + 1; r.Level == 0 && (next == len(blocks) || blocks[next].Level > 0) {
			f.addLarger(n, named)
		}
	}
	folded.Native = n
	folded.Own = f.Series(n.count)
	sort.Slice(n.Sizes, func(i, j int) bool { return n.Sizes[i].Size > n.Sizes[j].Size }) // package slices would add code for this type alone
	var found []*Resource
	for _, r := range rest {
		if folded != nil && r.Kind > folded.Kind {
			found, folded = append(found, folded), nil
		}
		if r.Kind != ledger.Mapping || r.Name != ledger.Anonymous || 2*(last.MappedBytes-first.MappedBytes) <= r.Own.Grown() {
			found = append(found, r)
		}
	}
	if folded != nil {
		found = append(found, folded)
	}
	return found
}
