package symindex

import (
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/program"
)

// Funcs returns all functions, in order of address.
func (x *Index) Funcs() []program.Func {
	fs := make([]program.Func, x.count(tableFuncs))
	for i := range fs {
		fs[i] = x.fn(i)
	}
	return fs
}
