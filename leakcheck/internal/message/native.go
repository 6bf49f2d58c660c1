package message

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// A message shows at most maxHolders holders of native blocks, each of which holds at least one in
// minHolderShare blocks.
const (
	minHolderShare = 20 // denominator of the share
	maxHolders     = 4
)

// HeldNative returns lines on who holds native blocks, the largest holder first. amount renders how
// much that is: "6.00 native blocks/op".
func HeldNative(r *nativeholders.Result, amount func(nativeholders.Sum) string) []string {
	var lines []string
	lost, said := lostNative(r, amount), false
	for i := range r.Holders {
		h := &r.Holders[i]
		if lost != "" && !said && r.Lost.Blocks >= h.Blocks {
			lines, said = append(lines, lost), true
		}
		if len(lines) == maxHolders || h.Blocks*minHolderShare < r.All.Blocks {
			break
		}
		lines = append(lines, fmt.Sprintf("held by %s -> %s", nativeHolder(h), amount(h.Sum)))
	}
	if lost != "" && !said {
		lines = append(lines, lost)
	}
	return lines
}

// lostNative returns the line that nothing refers to some blocks, "" if they are few.
func lostNative(r *nativeholders.Result, amount func(nativeholders.Sum) string) string {
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

// nativeHolder is the name of a holder.
func nativeHolder(h *nativeholders.Holder) string {
	name := textfmt.Abridge(h.Name, MaxNameShown)
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
