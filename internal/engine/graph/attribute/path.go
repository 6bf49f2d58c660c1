package attribute

import "github.com/leakgate/leakgate/internal/symbol"

// Paths caches the paths of nodes in a folded report.
type Paths map[*Node]string

// Of returns the path of a node: "example.com/app.srv.conns[*]".
func (p Paths) Of(n *Node) string {
	path, ok := p[n]
	if !ok {
		path = symbol.FoldPath(n.Name)
		if n.Parent() != nil {
			path = symbol.JoinPath(p.Of(n.Parent()), path)
		}
		p[n] = path
	}
	return path
}
