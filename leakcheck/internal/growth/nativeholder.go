package growth

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/nativeholders"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
)

// nativeHolders is what is known of who holds the native blocks that came with a batch.
type nativeHolders struct {
	before []nativeheap.Block // by address, those before the batch
	calls  int64              // of op, before it
	upTo   int64              // and when the holders were found
	found  *nativeholders.Result
	err    error // why that is not known
}

func (x *Experiment) nativeGrows() bool {
	return x.NativeHolders != nil && slices.ContainsFunc(x.resources(), func(r *resource) bool { return r.native != nil })
}

// noteBlocks notes down which native blocks there are, if they have grown with each batch.
func (x *Experiment) noteBlocks() {
	if !x.nativeGrows() {
		return
	}
	all, err := x.NativeBlocks()
	if err != nil {
		return
	}
	x.holders = &nativeHolders{before: all, calls: x.calls}
}

// findHolders finds who holds the native blocks that have come since noteBlocks, if they grow still.
func (x *Experiment) findHolders() {
	h := x.holders
	if h == nil || h.found != nil || !x.nativeGrows() {
		return
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	h.upTo = x.calls
	h.found, h.err = x.NativeHolders(ctx, func(b nativeheap.Block) bool {
		i := sort.Search(len(h.before), func(i int) bool { return h.before[i].Addr >= b.Addr })
		return i == len(h.before) || h.before[i].Addr != b.Addr
	})
}

// holdsNative reports whether most of what grows of native memory is held by Go objects that grow with a leak.
func (x *Experiment) holdsNative(l *leak, r *resource) bool {
	h := x.holders
	if r.native == nil || h == nil || h.found == nil || len(h.found.Holders) == 0 || len(l.heads) == 0 {
		return false
	}
	most := h.found.Holders[0]
	return most.Kind == nativeholders.Go && 2*most.Blocks > h.found.All.Blocks && strings.HasPrefix(most.Name, l.heads[0].Path)
}

// nativeHeldBy says who holds what grows of native memory, nil if that is not known.
func (x *Experiment) nativeHeldBy(r *resource) []string {
	h := x.holders
	switch {
	case r.native == nil || h == nil:
		return nil
	case h.err != nil:
		return []string{"could not tell who holds them: " + h.err.Error()}
	case h.found == nil || h.found.All.Blocks == 0:
		return nil
	}
	return message.HeldNative(h.found, func(s nativeholders.Sum) string {
		if r.kind.InBytes() {
			return textfmt.ByteCount(s.Bytes)
		}
		calls := h.upTo - h.calls
		rate := fmt.Sprintf("%.2f native block", float64(s.Blocks)/float64(calls))
		if s.Blocks != calls {
			rate += "s"
		}
		return rate + "/op"
	})
}
