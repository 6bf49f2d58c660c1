package nativeholders

import (
	"path"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/native"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A library is a file that has variables: a shared library, or the program.
type library struct {
	bias      uint64 // between its addresses and those in the process
	end       uint64 // of its last segment in the process; 0 if it is not known
	variables []objfile.Symbol
}

// library reads the variables of a mapped file, and where it lies; a file that is gone has none.
func (f *finder) library(file string) *library {
	l := f.files[file]
	if l != nil {
		return l
	}
	l = &library{}
	f.files[file] = l
	x, err := native.Open(file)
	if err != nil {
		return l
	}
	defer x.Close()
	for i := range f.native.Areas {
		if a := &f.native.Areas[i]; a.Name == file && len(x.Segments) > 0 {
			l.bias = a.Start - (x.Segments[0].Addr - x.Segments[0].Offset)
			last := x.Segments[len(x.Segments)-1]
			l.end = last.Addr + last.Size + l.bias
			break
		}
	}
	list, err := x.Symbols()
	if err != nil && x.Exports != nil {
		list = x.Exports()
	}
	for _, s := range list {
		if s.Kind == objfile.Object && s.Size > 0 {
			l.variables = append(l.variables, s)
		}
	}
	sort.SliceStable(l.variables, func(i, j int) bool { return l.variables[i].Addr < l.variables[j].Addr })
	return l
}

// named returns the variable at an address of the process, "" if its name is not known.
func (l *library) named(at uint64) string {
	i := sort.Search(len(l.variables), func(i int) bool { return l.variables[i].Addr+l.bias > at }) - 1
	if i < 0 || at-l.bias >= l.variables[i].Addr+l.variables[i].Size {
		return ""
	}
	return l.variables[i].Name
}

// variable returns the owner for a word among a file's variables, 0 if the variable is of another
// kind, or the tool's own.
func (f *finder) variable(file string, at uint64, atStart bool, kind Kind) int32 {
	g := f.global(at)
	isGo := f.isGo(at) || g != nil && g.Type != 0
	if isGo != (kind == Go) || isGo && g != nil && f.isTool(g.Package) {
		return 0
	}
	p := Place{Kind: kind}
	switch {
	case g == nil && !isGo:
		p.Variable, p.File = f.library(file).named(at), path.Base(file)
	case g != nil && !isGo:
		p.Variable, p.File = g.Name, path.Base(file)
	case g == nil:
		p.Variable = symbol.UnnamedData
	default:
		label, t := labelAt(f.heap.Types.Names, g.Type, int64(at-f.heap.Model.Bias()-g.Addr))
		if !t.allows(atStart) {
			return 0
		}
		p.Variable, p.Label = g.Name, label
	}
	return f.place(p)
}

// global returns the program's variable at an address, nil if there is none.
func (f *finder) global(at uint64) *debuginfo.Global {
	all := f.globals
	at -= f.heap.Model.Bias()
	i := sort.Search(len(all), func(i int) bool { return all[i].Addr > at }) - 1
	if i < 0 || at-all[i].Addr >= uint64(max(all[i].Size, 0)) {
		return nil
	}
	return &all[i]
}

// isGo reports whether an address is among the package variables of Go.
func (f *finder) isGo(at uint64) bool {
	for _, m := range f.heap.Model.Modules {
		if m.Data <= at && at < m.EData || m.BSS <= at && at < m.EBSS || m.NoPtrBSS <= at && at < m.ENoPtr {
			return true
		}
	}
	return false
}
