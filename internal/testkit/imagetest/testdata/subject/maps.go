package main

import (
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// readable lists the readable stretches of a file /proc/PID/maps. The kernel's own pages are left out, and so is what is
// shared with the frozen process.
func readable(maps string) []image.Range {
	var out []image.Range
	for line := range strings.Lines(maps) {
		f := strings.Fields(line)
		lo, hi, _ := strings.Cut(f[0], "-")
		if f[1][0] != 'r' || f[1][3] == 's' || len(f) > 5 && strings.HasPrefix(f[5], "[v") {
			continue
		}
		from, err := strconv.ParseUint(lo, 16, 64)
		if err != nil {
			continue
		}
		to, err := strconv.ParseUint(hi, 16, 64)
		if err != nil {
			continue
		}
		if n := len(out); n > 0 && out[n-1].End() == from {
			out[n-1].Len += to - from
			continue
		}
		out = append(out, image.Range{Addr: from, Len: to - from})
	}
	return out
}
