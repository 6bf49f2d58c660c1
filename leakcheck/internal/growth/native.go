package growth

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// What C code has must grow by at least this much, to be taken for a leak: libraries keep things for
// each thread that calls them first, and fill caches.
const (
	minBlocks        = 8 // over all batches, unless each call leaves exactly as many
	minBlocksPerCall = 0.05
	blocksOfThread   = 8 // what a library may keep for a thread
	bytesOfThread    = 64 << 10
)

// takeNative adds what C code has to a ledger, and returns it; nil if that cannot be told, which the
// log says. In a program without a C library there is nothing to say.
func (x *Experiment) takeNative(l *ledger.Ledger) *nativeheap.Heap {
	if x.Native == nil || l == nil {
		return nil
	}
	h, err := x.Native()
	if err != nil {
		x.noteNative(err)
		return nil
	}
	l.AddNative(h)
	return h
}

func (x *Experiment) noteNative(err error) {
	note := "native memory was not looked at: " + err.Error()
	if !errors.Is(err, nativeheap.ErrNone) && !slices.Contains(x.Logs, note) {
		x.Logs = append(x.Logs, note)
	}
}

// knowsNative reports whether what C code has is known of all snapshots.
func (x *Experiment) knowsNative() bool {
	return !slices.ContainsFunc(x.moments, func(m *moment) bool { return m.native == nil })
}

// isOfThreads reports whether what grows may be what libraries keep for threads that there were not
// before.
func (x *Experiment) isOfThreads(r *resource) bool {
	more := int64(max(0, x.last().native.Threads-x.first().native.Threads))
	if r.kind == ledger.NativeBytes {
		return r.own.grown() < more*bytesOfThread
	}
	return r.own.grown() < more*blocksOfThread && r.own.perCall() < 1
}

// A nativeGrowth is how the blocks of C code grew, by size.
type nativeGrowth struct {
	sizes  []blockSize // the largest first; empty if only bytes grow
	bytes  int64
	counts []func(m *moment) int64 // what the series is the sum of
}

// A blockSize is how many blocks of a size were added; of mapped ones the size is a mean.
type blockSize struct{ size, added int64 }

// count is how many blocks there were of what grows.
func (n *nativeGrowth) count(m *moment) (sum int64) {
	if m.native == nil {
		return 0
	}
	for _, f := range n.counts {
		sum += f(m)
	}
	return sum
}

// foldNative makes one of what grows of C code's by size. Bytes alone are said only where blocks do not
// grow, and mappings that large blocks are by themselves not at all.
func (x *Experiment) foldNative(all []*resource) []*resource {
	if !slices.ContainsFunc(all, func(r *resource) bool { return r.kind.OfMalloc() }) {
		return all
	}
	var folded *resource
	n := &nativeGrowth{}
	first, last := x.first().native, x.last().native
	named := make(map[string]bool)
	var rest []*resource
	for _, r := range all {
		switch {
		case r.kind == ledger.NativeBytes && folded == nil:
			folded = &resource{kind: r.kind, level: r.level, name: r.name, own: r.own}
			n.bytes = r.own.grown()
			n.counts = append(n.counts, func(m *moment) int64 { return m.native.Bytes })
		case r.kind == ledger.NativeBytes:
		case r.kind == ledger.Native:
			if folded == nil {
				folded = &resource{kind: r.kind, level: ledger.Levels - 1, name: ledger.NativeBlocks}
			}
			n.add(r, first, last, named)
		default:
			rest = append(rest, r)
			continue
		}
	}
	folded.native = n
	folded.own = x.series(n.count)
	sort.Slice(n.sizes, func(i, j int) bool { return n.sizes[i].size > n.sizes[j].size }) // package slices would have code for these alone
	var found []*resource
	for _, r := range rest {
		if folded != nil && r.kind > folded.kind {
			found, folded = append(found, folded), nil
		}
		if r.kind != ledger.Mapping || r.name != ledger.Anonymous || 2*(last.MappedBytes-first.MappedBytes) <= r.own.grown() {
			found = append(found, r)
		}
	}
	if folded != nil {
		found = append(found, folded)
	}
	return found
}

// add adds blocks of one size, or of all sizes that have not been added.
func (n *nativeGrowth) add(r *resource, first, last *nativeheap.Heap, named map[string]bool) {
	exact := r.level == 0
	of := func(size int64) bool {
		return exact == (ledger.SizeName(size) == r.name) && !named[ledger.SizeName(size)]
	}
	mapped := exact && r.name == ledger.MappedBlocks || !exact && !named[ledger.MappedBlocks]
	before := make(map[string]bool)
	for name := range named {
		before[name] = true
	}
	n.counts = append(n.counts, func(m *moment) (sum int64) {
		for size, count := range m.native.Sizes {
			if name := ledger.SizeName(size); exact && name == r.name || !exact && !before[name] {
				sum += count
			}
		}
		if mapped {
			sum += m.native.Mapped
		}
		return sum
	})
	for size, count := range last.Sizes {
		if added := count - first.Sizes[size]; of(size) {
			n.bytes += size * added
			if added > 0 {
				n.sizes = append(n.sizes, blockSize{size, added})
			}
		}
	}
	for size, count := range first.Sizes {
		if last.Sizes[size] == 0 && of(size) {
			n.bytes -= size * count
		}
	}
	if added := last.Mapped - first.Mapped; mapped && added > 0 {
		bytes := last.MappedBytes - first.MappedBytes
		n.bytes += bytes
		n.sizes = append(n.sizes, blockSize{bytes / added, added})
	}
	named[r.name] = true
}

// maxSizes is how many sizes of blocks a message lists.
const maxSizes = 8

// rate is "+6.00 native blocks/op (+1.6 KiB/op): 1 x 1,024, 1 x 336, 2 x 32".
func (n *nativeGrowth) rate(own series) string {
	calls := float64(own.called())
	bytes := "+" + bytesPerCall(float64(n.bytes)/calls) + "/op"
	if len(n.sizes) == 0 {
		return bytes + ": native memory, in about as many blocks"
	}
	rate := nounPerCall(own, "native block") + "/op (" + bytes + ")"
	var listed []string
	for i, s := range n.sizes {
		if i == maxSizes {
			listed = append(listed, fmt.Sprintf("… and %s more", textfmt.CountNoun(int64(len(n.sizes)-i), "size")))
			break
		}
		listed = append(listed, timesText(float64(s.added)/calls)+" x "+textfmt.Count(s.size))
	}
	return rate + ": " + strings.Join(listed, ", ")
}

// timesText is "2", or "0.25" of what is no whole number.
func timesText(perCall float64) string {
	const off = 0.02
	if whole := math.Round(perCall); whole >= 1 && math.Abs(perCall-whole) <= off {
		return textfmt.Count(int64(whole))
	}
	return fmt.Sprintf("%.2f", perCall)
}

// isMultiple reports whether one rate is a whole number of times another, as of the blocks that each
// of some objects has.
func isMultiple(rate, of float64) bool {
	const most, off = 100, 0.05
	times := math.Round(rate / of)
	return times >= 1 && times <= most && math.Abs(rate/of-times) <= off
}

// nativeBefore returns what C code has before a proof; false if nothing is to be proved of that.
func (x *Experiment) nativeBefore() (h *nativeheap.Heap, knows bool) {
	if x.Native == nil || x.Resources == nil {
		return nil, false
	}
	h, err := x.Native()
	if err != nil {
		x.noteNative(err)
		return nil, false
	}
	return h, true
}

// provesNative reports whether C code has no more than a leak of the smallest rate would leave, given
// what it had before so many calls. Sizes are told apart: fewer blocks of one do not make up for more of another.
func (x *Experiment) provesNative(before *nativeheap.Heap, calls int) bool {
	for i := range maxCounts {
		if i > 0 {
			x.awaitEnds(i)
		}
		now, err := x.Native()
		if err != nil {
			return false
		}
		grown := max(0, now.Mapped-before.Mapped)
		for size, n := range now.Sizes {
			grown += max(0, n-before.Sizes[size])
		}
		if grown <= maxNew(minBlocksPerCall, calls) && now.Bytes-before.Bytes < int64(minMappedPerCall*calls) {
			return true
		}
	}
	return false
}
