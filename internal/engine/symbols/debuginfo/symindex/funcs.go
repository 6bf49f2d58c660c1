package symindex

// Funcs returns all functions, in order of address.
func (x *Index) Funcs() []Func {
	fs := make([]Func, x.count(tableFuncs))
	for i := range fs {
		fs[i] = x.fn(i)
	}
	return fs
}
