package nativeholders

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// pages is the page map of a frozen process (Linux, Documentation/admin-guide/mm/pagemap.rst). A
// program with a hundred threads has 800 MiB of stacks, of which almost nothing was ever written
// to. A page that the page map calls neither present nor swapped out is zero, and need not be read.
// If there is no page map, all pages count as used.
type pages struct{ file *os.File }

// openPages opens the page map of a process.
func openPages(pid int) pages {
	file, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		return pages{}
	}
	return pages{file}
}

func (p pages) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
}

// Bits of an entry of the page map.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
)

// mostEntries is how many pages are asked for at most: those of 32 GiB.
const mostEntries = 8 << 20

// used returns the parts of private memory without a file that the process may have written to.
func (p pages) used(r image.Range) (parts []image.Range) {
	size := uint64(os.Getpagesize())
	first, last := r.Addr/size, (r.End()+size-1)/size
	if p.file == nil || last-first > mostEntries {
		return []image.Range{r}
	}
	var buf [32 << 10]byte
	for at := first; at < last; {
		chunk := buf[:min(uint64(len(buf)), (last-at)*8)]
		if n, _ := p.file.ReadAt(chunk, int64(at*8)); n < len(chunk) { // the rest counts as used
			return append(parts, image.Range{Addr: max(at*size, r.Addr), Len: r.End() - max(at*size, r.Addr)})
		}
		for ; len(chunk) > 0; chunk, at = chunk[8:], at+1 {
			if binary.LittleEndian.Uint64(chunk)&(pagePresent|pageSwapped) == 0 {
				continue
			}
			from, to := max(at*size, r.Addr), min((at+1)*size, r.End())
			if n := len(parts); n > 0 && parts[n-1].End() == from {
				parts[n-1].Len = to - parts[n-1].Addr
			} else {
				parts = append(parts, image.Range{Addr: from, Len: to - from})
			}
		}
	}
	return parts
}
