package debuginfo

import (
	"debug/dwarf"
	"sort"
)

// lineFiles says which source file the code at an address comes from: the points where
// the line table changes files, sorted by address.
type lineFiles struct {
	pcs   []uint64
	files []string
}

// fileAt returns the source file of the code at pc, by the unit's line table, which is decoded once.
func (u *unitReader) fileAt(pc uint64) string {
	if u.lines == nil {
		u.lines = readLineFiles(u.data, u.cu)
	}
	l := u.lines
	i := sort.Search(len(l.pcs), func(i int) bool { return l.pcs[i] > pc })
	if i == 0 {
		return ""
	}
	return l.files[i-1]
}

func readLineFiles(data *dwarf.Data, cu *dwarf.Entry) *lineFiles {
	l := &lineFiles{}
	lr, err := data.LineReader(cu)
	if err != nil || lr == nil {
		return l
	}
	var (
		row  dwarf.LineEntry
		last *dwarf.LineFile
	)
	for lr.Next(&row) == nil {
		switch {
		case row.EndSequence:
			l.pcs, l.files = append(l.pcs, row.Address), append(l.files, "")
			last = nil
		case row.File != last:
			last = row.File
			name := ""
			if last != nil {
				name = knownFile(last.Name)
			}
			if n := len(l.pcs); n > 0 && l.pcs[n-1] == row.Address {
				l.files[n-1] = name
				continue
			}
			l.pcs, l.files = append(l.pcs, row.Address), append(l.files, name)
		}
	}
	if !sort.SliceIsSorted(l.pcs, func(i, j int) bool { return l.pcs[i] < l.pcs[j] }) {
		sort.Stable(l)
	}
	return l
}

func (l *lineFiles) Len() int           { return len(l.pcs) }
func (l *lineFiles) Less(i, j int) bool { return l.pcs[i] < l.pcs[j] }
func (l *lineFiles) Swap(i, j int) {
	l.pcs[i], l.pcs[j] = l.pcs[j], l.pcs[i]
	l.files[i], l.files[j] = l.files[j], l.files[i]
}
