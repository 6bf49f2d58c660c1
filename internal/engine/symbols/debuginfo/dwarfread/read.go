package dwarfread

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/parallel"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

var errDamaged = errors.New("damaged debug information")

// ErrNoDWARF is the error for a file that was linked without debug information.
var ErrNoDWARF = errors.New("no debug information in the file")

// Read reads the debug information of an executable, on all processors: about 15 ms for each MB of
// a binary's size on two cores. The result refers to the contents of the file's sections, and to
// nothing else of the file.
func Read(f *objfile.File) (p *symindex.Program, err error) {
	defer func() {
		if e := recover(); e != nil {
			p, err = nil, fmt.Errorf("%w: %v", errDamaged, e)
		}
	}()
	if !f.HasDWARF() {
		return nil, ErrNoDWARF
	}
	units, err := readUnits(f)
	if err != nil {
		return nil, err
	}
	return resolve(f, units), nil
}

// debugSections are the contents of the sections .debug_* that are read, and the abbreviations by
// offset.
type debugSections struct {
	info, line, addr, loc, ranges, loclists, rnglists []byte

	strings stringSections
	abbrevs map[int]abbrevTable
}

// readSections loads the sections, in parallel because they may be compressed.
func readSections(f *objfile.File) (*debugSections, []unitHeader, error) {
	d := &debugSections{abbrevs: make(map[int]abbrevTable)}
	var abbrevs []byte
	wanted := [...]struct {
		name string
		to   *[]byte
	}{
		{"info", &d.info},
		{"line", &d.line},
		{"loclists", &d.loclists},
		{"loc", &d.loc},
		{"rnglists", &d.rnglists},
		{"ranges", &d.ranges},
		{"addr", &d.addr},
		{"str", &d.strings.str},
		{"line_str", &d.strings.lineStr},
		{"abbrev", &abbrevs},
	}
	errs := make([]error, len(wanted))
	forEachParallel(len(wanted), func(i int) {
		defer func() {
			if p := recover(); p != nil {
				errs[i] = fmt.Errorf("section .debug_%s: %w: %v", wanted[i].name, errDamaged, p)
			}
		}()
		*wanted[i].to, errs[i] = f.Contents(".debug_" + wanted[i].name)
	})
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	headers := unitHeaders(d.info)
	if len(headers) == 0 {
		return nil, nil, errDamaged
	}
	for _, h := range headers {
		if _, ok := d.abbrevs[h.abbrevs]; ok {
			continue
		}
		table, err := readAbbrevs(abbrevs, uint64(h.abbrevs))
		if err != nil {
			return nil, nil, err
		}
		d.abbrevs[h.abbrevs] = table
	}
	return d, headers, nil
}

// readUnits reads all compilation units, in parallel, and returns them in the file's order.
func readUnits(f *objfile.File) ([]*rawUnit, error) {
	d, headers, err := readSections(f)
	if err != nil {
		return nil, fmt.Errorf("reading DWARF: %w", err)
	}
	order := make([]int, len(headers))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return headers[order[i]].size() > headers[order[j]].size() })
	units := make([]*rawUnit, len(headers))
	forEachParallel(len(order), func(i int) {
		units[order[i]] = readUnit(d, headers[order[i]])
	})
	return units, nil
}

// unitHeader is the start of a compilation unit. Offsets are in .debug_info, but abbrevs is in
// .debug_abbrev.
type unitHeader struct {
	start, first, end int // offsets of the header, of the first entry, and of the end
	abbrevs           int
	offsetSize        int // 4, or 8 in 64-bit DWARF
	version           uint16
}

func (h *unitHeader) size() int { return h.end - h.start }

// unitHeaders lists the compilation units of .debug_info (DWARF 5, section 7.5.1).
func unitHeaders(info []byte) []unitHeader {
	const compileUnit = 0x01
	var out []unitHeader
	for start := 0; start < len(info) && uint64(start) < 1<<32; {
		c := cursor{b: info[start:]}
		h := unitHeader{start: start, offsetSize: 4}
		length := c.uint(4)
		if length == 0xffffffff {
			h.offsetSize, length = 8, c.u64()
		}
		c.b = c.block(length)
		h.end = start + 2*h.offsetSize - 4 + len(c.b) // the length takes 4 or 12 bytes
		h.version = c.u16()
		kind := byte(compileUnit)
		if h.version >= 5 {
			kind = c.u8()
			c.u8() // size of addresses, 8 on supported architectures
			h.abbrevs = int(c.uint(h.offsetSize))
		} else {
			h.abbrevs = int(c.uint(h.offsetSize))
			c.u8()
		}
		if c.bad {
			break
		}
		h.first = h.end - len(c.b)
		if kind == compileUnit && h.version >= 4 && len(c.b) > 0 {
			out = append(out, h)
		}
		start = h.end
	}
	return out
}

// maxWorkers is the largest number of goroutines that read sections or units at the same time.
const maxWorkers = 8

// forEachParallel calls do(i) for each i < n on up to maxWorkers goroutines; the calls start in
// order of i.
func forEachParallel(n int, do func(i int)) {
	parallel.Share(max(1, min(n, runtime.GOMAXPROCS(0), maxWorkers)), n, 1, func(_ int, mine iter.Seq[int]) {
		for i := range mine {
			do(i)
		}
	})
}
