// Package reporttest makes reports of refscan by hand, for tests of what reads reports.
package reporttest

import (
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// Node makes a node.
func Node(name, typ string, objects, bytes int64, children ...*refscan.Node) *refscan.Node {
	return &refscan.Node{Name: name, Type: typ, Figures: refscan.Figures{Objects: objects, Bytes: bytes}, Children: children}
}

// WithElems sets how many entries the maps of a node have.
func WithElems(n *refscan.Node, elems int64) *refscan.Node {
	n.Elems = elems
	return n
}

// Global makes a node the root of a package variable.
func Global(n *refscan.Node, file string, line int) *refscan.Node {
	n.Root = &refscan.RootInfo{Kind: refscan.RootGlobal, Package: symbol.Package(n.Name), File: file, Line: line}
	return n
}

// Frame makes a node the root of a variable of a function.
func Frame(n *refscan.Node, info refscan.RootInfo) *refscan.Node {
	info.Kind = refscan.RootFrame
	info.Package = symbol.Package(info.Func)
	n.Root = &info
	return n
}

// Report makes a report whose audit is in order.
func Report(roots ...*refscan.Node) *refscan.Report {
	r := &refscan.Report{GoVersion: "go1.26.8", Roots: roots, Pause: time.Millisecond}
	for _, n := range roots {
		o, b := n.Total()
		r.Totals.LiveObjects += o
		r.Totals.LiveBytes += b
	}
	r.Totals.LiveBytes += 1 << 20
	return r
}

// Sessions makes a registry that n sessions were left in.
func Sessions(n int64) *refscan.Node {
	return Global(WithElems(Node("example.com/app.sessions", "map[string]*example.com/app.Session", 1, 8192,
		Node("$mapval", "*example.com/app.Session", n, 96*n,
			Node("buf", "[]uint8", n, 320*n),
			Node("id", "string", n/2, n/2*16),
		)), n), "/src/app/registry.go", 12)
}
