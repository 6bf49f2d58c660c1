package goroutine

import (
	"math/bits"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// Prefixes of paths in golden files that are no paths on the heap.
const (
	GoroutineLine = "goroutine:"
	StackLine     = "stack:"
)

// name returns the name of the goroutines in a golden file.
func (c *Crew) name() string {
	name, closure := SourceName(c.Entry)
	if closure && c.CreatedBy != "" && !c.spawned {
		// a closure that an inlined function returned is named after that function's caller
		name, _ = SourceName(c.CreatedBy)
	}
	if closure {
		name += ".func"
	}
	return name
}

func (c *Crew) CountLine() golden.Measurement {
	m := golden.Measurement{Path: GoroutineLine + c.name(), Objects: c.Count}
	if by, _ := SourceName(c.CreatedBy); by != "" {
		m.Type = "created by " + by
	}
	return m
}

func anyOf(ps []naming.Pattern, match func(naming.Pattern) bool) bool {
	for _, p := range ps {
		if match(p) {
			return true
		}
	}
	return false
}

// Lines measures the goroutines that a pattern of counted matches, and the functions that a pattern
// of framed matches.
func (all Census) Lines(counted, framed []naming.Pattern) []golden.Measurement {
	var lines []golden.Measurement
	for _, c := range all {
		if anyOf(counted, c.IsAt) {
			lines = append(lines, c.CountLine())
		}
		sizes := make(map[string]int64)
		for _, f := range c.Frames() {
			name := symbol.Unescape(FrameFunction(f))
			if anyOf(framed, func(p naming.Pattern) bool { return p.MatchPrefix(name) }) {
				sizes[frameLine(name)] += f.Size
			}
		}
		for path, size := range sizes {
			if step := SizeStep(size); step > 0 {
				lines = append(lines, golden.Measurement{Path: path, Type: "frame", Objects: c.Count, Bytes: c.Count * step, BytesTolerance: tree.OneStep})
			}
		}
	}
	return tree.MergeLines(lines)
}

func frameLine(function string) string {
	name, closure := SourceName(function)
	if closure {
		name += ".func"
	}
	return StackLine + name
}

// SizeStep returns the power of two from 8 KiB on that stands for a size, 0 for sizes up to 6 KiB.
// Steps change at three times a power of two: a large frame is mostly an array, with a bit more
// that differs between builds.
func SizeStep(size int64) int64 {
	const least = 8 << 10
	if size <= least*3/4 {
		return 0
	}
	step := int64(1) << (bits.Len64(uint64(size)) - 1)
	if size > step+step/2 {
		step *= 2
	}
	return max(least, step)
}

// FrameOf returns the largest frame that a line of a golden file is about, nil if there is none.
func (c *Crew) FrameOf(path string) *refscan.StackFrame {
	var most *refscan.StackFrame
	frames := c.Frames()
	for i := range frames {
		if frameLine(symbol.Unescape(FrameFunction(frames[i]))) == path && (most == nil || frames[i].Size > most.Size) {
			most = &frames[i]
		}
	}
	return most
}
