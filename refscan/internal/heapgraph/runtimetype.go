package heapgraph

import (
	"strings"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
)

// byRuntimeType returns the type of a run-time descriptor in the process, nil if it is not known.
func (tt *typeTable) byRuntimeType(addr uint64) *Type {
	if t, ok := tt.byRType[addr]; ok {
		return t
	}
	t := tt.findRuntimeType(addr)
	tt.byRType[addr] = t
	return t
}

func (tt *typeTable) findRuntimeType(addr uint64) *Type {
	rt := tt.m.Type(addr)
	if rt == nil {
		return nil
	}
	ids := tt.names.TypesByHash(rt.Hash)
	var best debuginfo.TypeID
	for _, id := range ids {
		d := tt.names.Type(id)
		if uint64(d.Size) != rt.Size || d.Kind != rt.Kind {
			continue
		}
		// Among equal hashes the descriptor's own address decides where the binary and its debug
		// information are one file; the name decides in a twin, whose descriptors may lie elsewhere.
		if d.RuntimeAddr+tt.m.Bias() == addr {
			return tt.byID(id)
		}
		if best == 0 || sameShortName(d.Name, tt.m.TypeString(rt)) {
			best = id
		}
	}
	return tt.byID(best)
}

// sameShortName reports whether a full name ("example.com/app.T") is the one that reflect writes with
// the last path element only ("app.T").
func sameShortName(full, short string) bool {
	if i := strings.LastIndexByte(full, '/'); i >= 0 && !strings.ContainsAny(full, "[{(") {
		full = strings.TrimLeft(full[:i], "*")[:0] + full[i+1:]
	}
	return strings.TrimLeft(full, "*") == strings.TrimLeft(short, "*")
}
