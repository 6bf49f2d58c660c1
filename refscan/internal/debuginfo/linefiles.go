package debuginfo

import (
	"debug/dwarf"
	"sort"
)

// lineFiles says which source file the code at an address comes from: the points where
// the line table changes files, sorted by address.
type lineFiles []fileChange

type fileChange struct {
	pc   uint64
	file string
}

// fileAt returns the source file of the code at pc, by the unit's line table, which is decoded once.
func (u *unitReader) fileAt(pc uint64) string {
	if u.lines == nil {
		u.lines = readLineFiles(u.data, u.cu)
	}
	l := *u.lines
	i := sort.Search(len(l), func(i int) bool { return l[i].pc > pc })
	if i == 0 {
		return ""
	}
	return l[i-1].file
}

func readLineFiles(data *dwarf.Data, cu *dwarf.Entry) *lineFiles {
	var l lineFiles
	lr, err := data.LineReader(cu)
	if err != nil || lr == nil {
		return &l
	}
	var (
		row  dwarf.LineEntry
		last *dwarf.LineFile
	)
	for lr.Next(&row) == nil {
		switch {
		case row.EndSequence:
			l = append(l, fileChange{row.Address, ""})
			last = nil
		case row.File != last:
			last = row.File
			name := ""
			if last != nil {
				name = knownFile(last.Name)
			}
			if n := len(l); n > 0 && l[n-1].pc == row.Address {
				l[n-1].file = name
				continue
			}
			l = append(l, fileChange{row.Address, name})
		}
	}
	byPC := func(i, j int) bool { return l[i].pc < l[j].pc }
	if !sort.SliceIsSorted(l, byPC) {
		sort.SliceStable(l, byPC)
	}
	return &l
}
