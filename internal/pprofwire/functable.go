package pprofwire

import (
	"sort"
)

// A Function is one line of the table.
type Function struct {
	Name string
	// Flat is the bytes of the function's own frames, Cum also those of its callees. Both are of
	// all stack memory, used or not.
	Flat, Cum int64
	// Goroutines is the number of goroutines that have the function on their stack.
	Goroutines int64
}

// A FunctionTable sums samples. The zero value is ready.
type FunctionTable struct {
	index   map[string]*line
	order   []*line
	samples int
}

type line struct {
	Function
	counted int // number of the last sample that counted
}

// Add adds a sample: the names of its functions from the leaf to the root, inlined ones too.
func (t *FunctionTable) Add(leafFirst []string, total, goroutines int64) {
	if t.index == nil {
		t.index = make(map[string]*line)
	}
	t.samples++
	for i, name := range leafFirst {
		l := t.index[name]
		if l == nil {
			l = &line{Function: Function{Name: name}}
			t.index[name] = l
			t.order = append(t.order, l)
		}
		if i == 0 {
			l.Flat += total
		}
		if l.counted == t.samples {
			continue // it calls itself
		}
		l.counted = t.samples
		l.Cum += total
		l.Goroutines += goroutines
	}
}

// Functions returns the sums, the largest flat value first.
func (t *FunctionTable) Functions() []Function {
	out := make([]Function, len(t.order))
	for i, l := range t.order {
		out[i] = l.Function
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Flat != b.Flat {
			return a.Flat > b.Flat
		}
		if a.Cum != b.Cum {
			return a.Cum > b.Cum
		}
		return a.Name < b.Name
	})
	return out
}
