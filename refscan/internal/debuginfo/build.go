package debuginfo

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

var (
	errDamaged = errors.New("damaged debug information")
	errNoDWARF = errors.New("no debug information in the file")
)

// Build indexes one ELF file that has DWARF, without looking at or writing a cache. It uses all
// processors: about 15 ms for each MB of a binary's size on two cores. It keeps nothing of the file.
func Build(path string) (*Index, error) {
	f, err := openELF(path)
	if err != nil {
		return nil, fmt.Errorf("debuginfo: %w", err)
	}
	defer f.Close()
	image, err := buildImage(f, sourceOwn)
	if err != nil {
		return nil, fmt.Errorf("debuginfo: %s: %w", path, err)
	}
	x, err := openImage(image)
	if err != nil {
		return nil, fmt.Errorf("debuginfo: %s: %w", path, err)
	}
	return x, nil
}

// buildImage turns an executable's debug information into the bytes of an index file.
func buildImage(f *elfFile, identity identity) (image []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			image, err = nil, fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	if !f.hasDWARF() {
		return nil, errNoDWARF
	}
	units, err := readUnits(f)
	if err != nil {
		return nil, err
	}
	p := newProgram(f, units)
	return p.encode(identity), nil
}

// readSections loads the sections .debug_* that the readers need, in parallel because they may be compressed.
func readSections(f *elfFile) (map[string][]byte, error) {
	names := strings.Fields("abbrev info line line_str str str_offsets addr loclists rnglists loc ranges")
	contents := make([][]byte, len(names))
	errs := make([]error, len(names))
	parallel(len(names), func(i int) {
		defer func() {
			if p := recover(); p != nil {
				errs[i] = fmt.Errorf("section .debug_%s: %w: %v", names[i], errDamaged, p)
			}
		}()
		contents[i], errs[i] = f.contents(".debug_" + names[i])
	})
	d := make(map[string][]byte, len(names))
	for i, name := range names {
		d[name] = contents[i]
	}
	return d, errors.Join(errs...)
}

// readUnits reads all compilation units, in parallel, and returns them in the file's order.
func readUnits(f *elfFile) ([]*rawUnit, error) {
	d, err := readSections(f)
	if err != nil {
		return nil, err
	}
	data, err := dwarf.New(d["abbrev"], nil, nil, d["info"], d["line"], nil, d["ranges"], d["str"])
	if err != nil {
		return nil, fmt.Errorf("reading DWARF: %w", err)
	}
	for _, name := range [...]string{"addr", "line_str", "str_offsets", "rnglists"} {
		if len(d[name]) == 0 {
			continue
		}
		if err := data.AddSection(".debug_"+name, d[name]); err != nil {
			return nil, fmt.Errorf("reading DWARF: %w", err)
		}
	}
	headers := unitHeaders(d["info"])
	if len(headers) == 0 {
		return nil, errDamaged
	}
	// The first reader of a unit sets it up in memory that all readers share (go1.26 debug/dwarf/entry.go,
	// collectDwarf5BaseOffsets), and in damaged data one may run on into the next unit. So all are set up before the
	// work is spread.
	readers := make(chan *dwarf.Reader, workers(len(headers)))
	for range cap(readers) {
		readers <- data.Reader()
	}
	if err := setUpUnits(data, headers); err != nil {
		return nil, err
	}
	order := make([]int, len(headers))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return headers[order[i]].size > headers[order[j]].size })
	units := make([]*rawUnit, len(headers))
	parallel(len(order), func(i int) {
		h := headers[order[i]]
		l := lists{dwarf5: h.version >= 5, addr: d["addr"], loc: d["loc"], rng: d["ranges"]}
		if l.dwarf5 {
			l.loc, l.rng = d["loclists"], d["rnglists"]
		}
		r := <-readers
		units[order[i]] = readUnit(data, r, h.first, l)
		readers <- r
	})
	return units, nil
}

// setUpUnits makes debug/dwarf read the start of every unit.
func setUpUnits(data *dwarf.Data, headers []unitHeader) (err error) {
	defer func() {
		if recover() != nil {
			err = errDamaged
		}
	}()
	r := data.Reader()
	for _, h := range headers {
		r.Seek(h.first)
	}
	return nil
}

// unitHeader is the start of a compilation unit.
type unitHeader struct {
	first   dwarf.Offset // of the unit's first entry
	size    int
	version uint16
}

// unitHeaders lists the compilation units of .debug_info (DWARF 5, section 7.5.1).
func unitHeaders(info []byte) []unitHeader {
	const compileUnit = 0x01
	var out []unitHeader
	for off := 0; len(info)-off >= 4; {
		length, head := uint64(binary.LittleEndian.Uint32(info[off:])), 4
		offsetSize := 4
		if length == 0xffffffff && len(info)-off >= 12 {
			length, head, offsetSize = binary.LittleEndian.Uint64(info[off+4:]), 12, 8
		}
		start := off + head
		if length > uint64(len(info)-start) || length < 8 {
			break
		}
		version := binary.LittleEndian.Uint16(info[start:])
		first := start + 2 + offsetSize + 1
		kind := byte(compileUnit)
		if version >= 5 {
			kind = info[start+2]
			first++
		}
		if kind == compileUnit && version >= 4 && first < start+int(length) {
			out = append(out, unitHeader{first: dwarf.Offset(first), size: int(length), version: version})
		}
		off = start + int(length)
	}
	return out
}

func workers(jobs int) int {
	return max(1, min(jobs, runtime.GOMAXPROCS(0), 8))
}

// parallel calls do for 0 to n-1 on all processors, in that order.
func parallel(n int, do func(i int)) {
	var (
		next atomic.Int64
		wg   sync.WaitGroup
	)
	for range workers(n) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	wg.Wait()
}
