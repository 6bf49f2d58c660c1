package native

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// An Answer says who holds native memory.
type Answer struct {
	Found *Holders
	// why Found is nil or incomplete; what Found has is right
	Err error
}

// NewAnswer returns the answer that a search found, or why there is none.
func NewAnswer(found *Holders, cannot error) *Answer {
	if cannot == nil && (found.Hidden > 0 || found.Unread != "") {
		cannot = errors.New("not all memory could be read, or told from large blocks")
	}
	if cannot == nil {
		return &Answer{Found: found}
	}
	u := &refscan.UnavailableError{Cause: "who holds native memory cannot be told: " + strings.TrimPrefix(cannot.Error(), "refscan: "), Remedy: "leave out NativeMemory, or WithNative"}
	if known, ok := cannot.(*nativeheap.UnknownError); ok && known.Remedy != "" {
		u.Remedy = known.Remedy
	}
	return &Answer{found, u}
}

// FindHolders finds the holders of the blocks for which is returns true.
func FindHolders(s *refscan.Snapshot, is func(Block) bool) (*Holders, error) {
	return nativeholders.Find((*snapshot.Snapshot)(s), is)
}

// FindFreed finds the blocks that cutting nodes would leave without a reference, as
// nativeholders.FindFreed does. keys are the naming.NodeKeys of nodes in a report with native
// blocks. A place without a node is cut if it lies below the path of a key, which is a variable
// then.
func FindFreed(s *refscan.Snapshot, keys []string, asObjects bool) (Sum, error) {
	wanted := make(map[string]bool)
	for _, k := range keys {
		wanted[k] = true
	}
	is := func(n *attribute.Node, path, typ string) bool {
		r := n.Top().Root
		return wanted[naming.NodeKey(symbol.Unescape(path), naming.CleanType(typ), r.Goroutine, r.CreatedAt)]
	}
	return nativeholders.FindFreed((*snapshot.Snapshot)(s), &nativeholders.Cut{
		Node: func(n *attribute.Node, path string) bool { return is(n, path, n.Type) },
		Place: func(p *nativeholders.Place, path string) bool {
			switch {
			case asObjects:
				return false
			case p.Node != nil && p.Label == "":
				return is(p.Node, symbol.JoinPath(path, whole), symbol.NativeBlock)
			case p.Node != nil:
				return is(p.Node, path, symbol.NativeBlock)
			}
			return slices.ContainsFunc(keys, func(key string) bool {
				path, below := strings.CutPrefix(path, naming.PathOfKey(key))
				return below && naming.AtBoundary(path, 0)
			})
		},
		AsObjects: asObjects,
	})
}

// MostBelow reports whether Go objects at or below a path hold most of the blocks.
func MostBelow(r *Holders, path string) bool {
	return len(r.Holders) > 0 && r.Holders[0].Kind == nativeholders.Go && 2*r.Holders[0].Blocks > r.All.Blocks && strings.HasPrefix(r.Holders[0].Name, path)
}

// A message shows at most maxHolders holders of native blocks, each of which holds at least one in
// minHolderShare blocks.
const (
	minHolderShare = 20 // denominator of the share
	maxHolders     = 4
)

// HeldBy returns lines on who holds native blocks, the largest holder first. Names are cut to so
// many characters. amount renders how much that is: "6.00 native blocks/op".
func HeldBy(r *Holders, maxName int, amount func(Sum) string) []string {
	var lines []string
	lost, said := lostLine(r, amount), false
	for i := range r.Holders {
		h := &r.Holders[i]
		if lost != "" && !said && r.Lost.Blocks >= h.Blocks {
			lines, said = append(lines, lost), true
		}
		if len(lines) == maxHolders || h.Blocks*minHolderShare < r.All.Blocks {
			break
		}
		lines = append(lines, fmt.Sprintf("held by %s -> %s", nameOf(h, maxName), amount(h.Sum)))
	}
	if lost != "" && !said {
		lines = append(lines, lost)
	}
	return lines
}

// lostLine returns the line that nothing refers to some blocks, "" if they are few.
func lostLine(r *Holders, amount func(Sum) string) string {
	if r.Lost.Blocks == 0 || r.Lost.Blocks*minHolderShare < r.All.Blocks {
		return ""
	}
	to := ""
	if (r.All.Blocks-r.Lost.Blocks)*minHolderShare >= r.All.Blocks {
		to = " to " + amount(r.Lost)
	}
	switch {
	case r.Unread != "":
		return "could not tell who holds " + amount(r.Lost) + ": " + r.Unread
	case r.InC:
		return "no reference is left" + to + ": lost, unless a thread in C code has it in a register"
	}
	return "no reference is left" + to + ": lost"
}

// nameOf is the name of a holder.
func nameOf(h *nativeholders.Holder, most int) string {
	name := textfmt.Abridge(h.Name, most)
	switch h.Kind {
	case nativeholders.Variable:
		if name == "" {
			return "a C variable without a name (" + h.File + ")"
		}
		return fmt.Sprintf("the C variable %s (%s)", name, h.File)
	case nativeholders.Frame:
		return "the stack of a goroutine, at " + name
	case nativeholders.Thread:
		return "a thread: its stack in C code, or a thread-local variable"
	case nativeholders.Mapping:
		return "mapped memory that is neither Go's nor malloc's"
	}
	return name
}
