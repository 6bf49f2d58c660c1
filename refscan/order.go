package refscan

import "github.com/leakgate/leakgate/internal/engine/graph/root"

// An Order says which roots claim objects before others. In a scan each object is charged to one
// root: the nearest variable, unless the order says otherwise.
type Order struct {
	// PackagesFirst: variables of goroutines get what no variable of a package holds.
	PackagesFirst bool
	// TestsLast: variables of tests get what no other variable holds.
	TestsLast bool
	// LeftOut returns true for roots that get only what no other variable, test or timer holds;
	// nil: there are none.
	LeftOut func(name string, of *RootInfo) bool
	// LeftOutPath does so for nodes, by their paths in a folded report.
	LeftOutPath func(path string, of *RootInfo) bool
}

// Arrange sets the order for later calls of Scan, Held and Elsewhere; nil: by distance alone.
func (s *Snapshot) Arrange(o *Order) {
	if o == nil {
		s.in().Arrange(root.Order{})
		return
	}
	order := root.Order{PackagesFirst: o.PackagesFirst, TestsLast: o.TestsLast}
	if o.LeftOut != nil {
		order.LeftOut = func(r *root.Root) bool { return o.LeftOut(r.Name, rootInfo(r)) }
	}
	if o.LeftOutPath != nil {
		order.LeftOutPath = func(path string, of *root.Root) bool { return o.LeftOutPath(path, rootInfo(of)) }
	}
	s.in().Arrange(order)
}
