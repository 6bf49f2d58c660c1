package attribute

import "github.com/leakgate/leakgate/internal/nodename"

// Paths caches the paths of nodes in a folded report.
type Paths map[*Node]string

// Of returns the path of a node: "example.com/app.srv.conns[*]".
func (p Paths) Of(n *Node) string {
	path, ok := p[n]
	if !ok {
		path = nodename.Fold(n.Name)
		if n.Parent() != nil {
			path = nodename.Join(p.Of(n.Parent()), path)
		}
		p[n] = path
	}
	return path
}
