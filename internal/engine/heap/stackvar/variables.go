package stackvar

import (
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/live"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// A Variable is a variable of a goroutine's frame that lies in memory in one piece.
type Variable struct {
	Func string // name of the function that declares it, which may be inlined
	CFA  uint64 // canonical frame address of the frame that holds it
	Name string
	Type string
	Addr uint64 // on the stack, or on the heap if it escaped
	Size uint64
	Live bool // a word of it (or the reference to it, if it escaped) keeps something alive
}

// Variables calls visit for each variable that has a place in the frames of a goroutine at their
// pcs.
func (fd *Finder) Variables(st *live.Stack, visit func(Variable)) error {
	var live []uint64
	for _, s := range st.Slots {
		live = append(live, s.Addr)
	}
	return fd.types.Model.Frames(st.Goroutine, func(f *goruntime.Frame) error {
		for _, v := range fd.activeVars(f, false) {
			if !v.Deref && (v.place.VarOffset != 0 || uint64(v.place.Size) < v.typ.Size) {
				continue
			}
			out := Variable{Func: v.Inline, CFA: f.FP, Name: v.Name, Type: v.typ.Name, Addr: f.FP + uint64(v.place.CFAOffset), Size: v.typ.Size}
			if out.Func == "" {
				out.Func = f.Func.Name
			}
			size := v.typ.Size
			if v.Deref {
				size = 8
			}
			for _, at := range live {
				out.Live = out.Live || out.Addr <= at && at < out.Addr+size
			}
			if v.Deref {
				out.Addr = heaptype.Word(st.Goroutine.Stack(out.Addr), 0)
			}
			visit(out)
		}
		return nil
	})
}
