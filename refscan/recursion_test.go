package refscan_test

import (
	"container/list"
	"context"
	"testing"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// A link refers to others of its type through a map of lists; a chained refers to the next
// directly.
type (
	link struct {
		name string
		to   map[string][]*link
	}
	chained struct {
		value *int
		next  *chained
	}
)

var (
	gLink     *link
	gChained  *chained
	gElements *list.List
	gParent   context.Context
	gAlone    *chained
)

// A node whose type folds has the path by which it recurs.
func TestRecursionPaths(t *testing.T) {
	gLink = &link{name: "first", to: map[string][]*link{}}
	gLink.to["all"] = []*link{{name: "second"}, {name: "third"}}
	gChained = &chained{new(int), &chained{new(int), nil}}
	gElements = list.New()
	gElements.PushBack("one")
	gElements.PushBack("two")
	gElements.PushBack("three")
	gAlone = &chained{}
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	gParent = parent
	_, cancelChild := context.WithCancel(parent)
	_ = cancelChild // nothing but the parent is to hold the child
	defer func() { gLink, gChained, gElements, gParent, gAlone = nil, nil, nil, nil, nil }()

	s, err := refscan.Capture()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r, err := s.Scan()
	require.NoError(t, err)
	got := map[string]string{}
	var walk func(path string, n *refscan.Node)
	walk = func(path string, n *refscan.Node) {
		if path = symbol.JoinPath(path, n.Name); n.Recursion != "" {
			got[path] = n.Recursion
		}
		for _, c := range n.Children {
			walk(path, c)
		}
	}
	for _, n := range r.Fold().Roots {
		switch n.Name {
		case pkg + "gLink", pkg + "gChained", pkg + "gElements", pkg + "gParent", pkg + "gAlone":
			n.Name = n.Name[len(pkg):]
			walk("", n)
		}
	}
	require.Equal(t, map[string]string{
		"gLink": "to[*][*]", "gChained": "next", "gElements.root.next": "next", "gParent": "children[$key]",
	}, got)
}
