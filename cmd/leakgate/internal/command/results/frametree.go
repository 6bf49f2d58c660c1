package results

import (
	"cmp"
	"slices"

	"github.com/google/pprof/profile"
)

// A frame is a node in the tree of stacks; the outermost frame is the root.
type frame struct {
	name     string
	value    int64 // of the frame and all in it
	children []*frame
	index    map[string]*frame
}

// child returns the child with a name, a new one if there is none.
func (f *frame) child(name string) *frame {
	c := f.index[name]
	if c == nil {
		c = &frame{name: name}
		if f.index == nil {
			f.index = make(map[string]*frame)
		}
		f.index[name] = c
		f.children = append(f.children, c)
	}
	return c
}

// treeOf sums the values with an index, by stack. It leaves out negative values, as in a
// difference: they have no width.
func treeOf(p *profile.Profile, index int) *frame {
	root := &frame{name: "all"}
	for _, s := range p.Sample {
		value := s.Value[index]
		if value <= 0 {
			continue
		}
		root.value += value
		at := root
		for i := len(s.Location) - 1; i >= 0; i-- {
			lines := s.Location[i].Line
			for j := len(lines) - 1; j >= 0; j-- {
				if lines[j].Function == nil {
					continue
				}
				at = at.child(lines[j].Function.Name)
				at.value += value
			}
		}
	}
	root.sort()
	return root
}

// sort orders frames by value, the largest first, so that equal profiles give equal pictures.
func (f *frame) sort() {
	slices.SortFunc(f.children, func(a, b *frame) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.name, b.name))
	})
	for _, c := range f.children {
		c.sort()
	}
}
