package dump

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// A Mapping is a range of addresses with what is mapped there.
type Mapping struct {
	Start, End uint64 // End is the first address behind it
	Offset     uint64 // of Start, in File
	Executable bool
	// File is a path, a name of the kernel's such as "[vdso]", or "" for anonymous memory.
	File string
	// Deleted says that the file was no longer in its folder when the map was written.
	Deleted bool
	BuildID string // in hexadecimal, "" if it is not known
}

// IsFile reports whether the mapping is of a file with a path, whatever is in the file. Devices,
// memfds, huge pages and System V shared memory are no such files.
func (m *Mapping) IsFile() bool {
	return strings.HasPrefix(m.File, "/") && !strings.HasPrefix(m.File, "//") && !strings.HasPrefix(m.File, "/memfd:") &&
		!strings.HasPrefix(m.File, "/dev/") && !strings.HasPrefix(m.File, "/anon_hugepage") && !strings.HasPrefix(m.File, "/SYSV")
}

// deletedMark is what the kernel appends to the path of a file that was removed (proc_pid_maps(5)).
const deletedMark = " (deleted)"

// procLine is a line of /proc/PID/maps. The path goes to the end of the line: it may have spaces.
var procLine = regexp.MustCompile(`^([0-9a-f]+)-([0-9a-f]+) ([r-][w-][x-][ps]) ([0-9a-f]+) [0-9a-f]+:[0-9a-f]+ [0-9]+(?: +(.*))?$`)

// ParseMaps reads a map, sorted by address. Lines in other forms than the kernel's are read if
// google/pprof knows them; lines that are no mapping are ignored, since logs may be mixed in. It is
// an error if there is no mapping at all.
//
// google/pprof's own reader merges neighbouring mappings, and so attributes code in anonymous
// memory to the library at the addresses above it. Here each line is a mapping.
func ParseMaps(text []byte) ([]*Mapping, error) {
	var maps []*Mapping
	err := EachLine(text, func(_ int, line string) error {
		line = strings.TrimRight(line, "\r")
		m, ok := parseProc(line)
		if !ok {
			m, ok = parseOther(line)
		}
		if ok && m.Start < m.End {
			maps = append(maps, m)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(maps) == 0 {
		return nil, errors.New("no line of it is a mapping, as /proc/PID/maps has them")
	}
	SortMaps(maps)
	return maps, nil
}

func parseProc(line string) (*Mapping, bool) {
	part := procLine.FindStringSubmatch(strings.TrimLeft(line, " "))
	if part == nil {
		return nil, false
	}
	m := &Mapping{Executable: part[3][2] == 'x', File: part[5]}
	m.File, m.Deleted = strings.CutSuffix(m.File, deletedMark)
	for i, to := range map[int]*uint64{1: &m.Start, 2: &m.End, 4: &m.Offset} {
		var err error
		if *to, err = strconv.ParseUint(part[i], 16, 64); err != nil {
			return nil, false
		}
	}
	return m, true
}

// parseOther reads the other forms, which name executable mappings only.
func parseOther(line string) (*Mapping, bool) {
	found, err := profile.ParseProcMaps(strings.NewReader(line))
	if err != nil || len(found) != 1 {
		return nil, false
	}
	m := MappingOf(found[0])
	return m, m.IsFile()
}

// MappingOf converts a mapping of a profile, which counts as executable.
func MappingOf(m *profile.Mapping) *Mapping {
	file, deleted := strings.CutSuffix(m.File, deletedMark)
	return &Mapping{Start: m.Start, End: m.Limit, Offset: m.Offset, Executable: true, File: file, Deleted: deleted, BuildID: strings.ToLower(m.BuildID)}
}

// SortMaps sorts a map by address, as FindMapping needs it.
func SortMaps(maps []*Mapping) {
	slices.SortStableFunc(maps, func(a, b *Mapping) int { return cmp.Compare(a.Start, b.Start) })
}

// FindMapping returns the mapping of a sorted map that contains an address; nil if there is none.
func FindMapping(maps []*Mapping, addr uint64) *Mapping {
	i := sort.Search(len(maps), func(i int) bool { return maps[i].Start > addr })
	if i == 0 || addr >= maps[i-1].End {
		return nil
	}
	return maps[i-1]
}
