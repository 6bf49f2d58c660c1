package dwarfread

import (
	"debug/dwarf"
	"debug/elf"
	"path"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestMain(m *testing.M) { progtest.Main(m) }

// TestEntries compares a program's entries and line tables with those that debug/dwarf reads.
func TestEntries(t *testing.T) {
	modes := [][]string{nil}
	if require.IsSlow() {
		modes = append(modes, []string{"GOEXPERIMENT=nodwarf5"}, []string{"-ldflags=-linkmode=external"})
	}
	for _, mode := range modes {
		t.Run(append(mode, "default")[0], func(t *testing.T) {
			file := progtest.Build(t, mode...)
			ours := progtest.Open(t, file)
			sections, headers, err := readSections(ours)
			require.NoError(t, err)
			theirs, err := elf.Open(file)
			require.NoError(t, err)
			defer theirs.Close()
			data, err := theirs.DWARF()
			require.NoError(t, err)
			units, entries, lines := 0, 0, 0
			for _, h := range headers {
				u := newUnitReader(sections, h)
				r := data.Reader()
				r.Seek(dwarf.Offset(h.first))
				first, err := r.Next()
				require.NoError(t, err)
				if lang, _ := first.Val(dwarf.AttrLanguage).(int64); lang != languageGo {
					continue
				}
				units++
				r.Seek(dwarf.Offset(h.first))
				for depth := 0; ; {
					want, err := r.Next()
					require.NoError(t, err)
					got, err := u.next()
					require.NoError(t, err)
					if want.Tag == 0 {
						require.Nil(t, got)
						depth--
					} else {
						sameEntry(t, u, want, got)
						entries++
						if want.Children {
							depth++
						}
					}
					if depth == 0 {
						break
					}
				}
				require.Empty(t, u.b, "entries behind the last")
				lines += sameLines(t, sections, data, first)
			}
			require.Greater(t, units, 10)
			require.Greater(t, entries, 1000)
			require.Greater(t, lines, 1000)
		})
	}
}

func sameEntry(t *testing.T, u *unitReader, want *dwarf.Entry, got *entry) {
	t.Helper()
	require.NotNil(t, got)
	require.Equal(t, want.Offset, dwarf.Offset(got.off))
	require.Equal(t, uint64(want.Tag), uint64(got.tag))
	require.Equal(t, want.Children, got.children)
	require.Len(t, got.attrs, len(want.Field))
	if want.Tag == dwarf.TagCompileUnit {
		u.lists.addrBase = uint64(got.number(attrAddrBase))
	}
	for i, f := range want.Field {
		a := got.attrs[i]
		require.Equal(t, uint64(f.Attr), uint64(a.name))
		switch v := f.Val.(type) {
		case string:
			require.Equal(t, v, got.text(a.name))
		case dwarf.Offset:
			require.Equal(t, v, dwarf.Offset(got.ref(a.name)))
		case []byte:
			require.Equal(t, classBlock, a.class)
			require.Equal(t, v, a.data)
		case bool:
			require.Equal(t, v, a.num != 0)
		case int64:
			require.Equal(t, v, got.number(a.name))
		case uint64:
			if f.Class == dwarf.ClassAddress {
				require.Equal(t, v, u.address(got, a.name))
			} else {
				require.Equal(t, int64(v), got.number(a.name))
			}
		default:
			t.Fatalf("%v: %T", f.Attr, v)
		}
	}
}

// sameLines compares the source file of every row of a unit's line table. It returns the number of
// rows.
func sameLines(t *testing.T, d *debugSections, data *dwarf.Data, cu *dwarf.Entry) int {
	t.Helper()
	r, err := data.LineReader(cu)
	require.NoError(t, err)
	if r == nil {
		return 0 // a unit without code of its own
	}
	off, _ := cu.Val(dwarf.AttrStmtList).(int64)
	dir, _ := cu.Val(dwarf.AttrCompDir).(string)
	table := readLineTable(d.line, uint64(off), dir, d.strings)
	require.Len(t, table.files, len(r.Files()))
	for i, f := range r.Files() {
		if f != nil {
			require.Equal(t, f.Name, path.Clean(table.files[i].path()))
		}
	}
	rows := 0
	var row, next dwarf.LineEntry
	err = r.Next(&row)
	for err == nil {
		err = r.Next(&next)
		// Of several rows at an address the last one counts.
		if err == nil && !row.EndSequence && next.Address > row.Address {
			require.Equal(t, knownFile(path.Clean(row.File.Name)), table.fileAt(row.Address))
			rows++
		}
		row = next
	}
	return rows
}
