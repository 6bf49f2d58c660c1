package liveread

import (
	"errors"
	"runtime"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Code returns a model of this program's functions, which it reads in place. Programs of several
// modules are refused, as by NewVariables.
func (l *Layout) Code(x *debuginfo.Index) (*goruntime.Model, error) {
	if l.field(l.moduledata.Next) != 0 {
		return nil, errors.New("the program has several modules")
	}
	return goruntime.LoadCode(image.NewSpace(ownCode{l}), x, l.bias, runtime.GOARCH)
}

// field reads a word of the first module's data.
func (l *Layout) field(at uintptr) uintptr { return offheap.Word(l.at.Modules + at) }

// Constants returns the ranges of memory that hold the first module's constants, with those that
// have addresses in them (see goruntime.Model.IsConstant).
func (l *Layout) Constants() [][2]uintptr {
	at := &l.moduledata
	all := [][2]uintptr{{l.field(at.ROData), l.field(at.LinesEnd)}}
	if l.field(at.Types) > l.field(at.LinesEnd) {
		all = append(all, [2]uintptr{l.field(at.Types), l.field(at.NoPtrData)})
	}
	return all
}

// ownCode is the memory of the first module's code and constants, and what says where they are.
type ownCode struct{ *Layout }

func (c ownCode) Held() (pieces []image.Piece) {
	at := &c.moduledata
	module := c.Layout.at.Modules
	ranges := append(c.Constants(), [2]uintptr{c.field(at.Text), c.field(at.TextEnd)}, [2]uintptr{module, module + at.Size})
	for _, r := range ranges {
		pieces = append(pieces, image.Piece{Addr: uint64(r[0]), Data: offheap.Bytes(r[0], r[1]-r[0])})
	}
	sort.Slice(pieces, func(i, j int) bool { return pieces[i].Addr < pieces[j].Addr }) // slices.SortFunc would be 17 KB of code
	return pieces
}

// Copy is not called, since Held has all.
func (ownCode) Copy([]image.Range) ([][]byte, error) { return nil, errors.ErrUnsupported }
