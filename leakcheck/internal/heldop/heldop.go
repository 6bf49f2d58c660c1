// Package heldop makes what an operation of a test refers to a root of its own in reports: the
// variables of this module's functions are the tool's own and do not count.
package heldop

import (
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A holder has a finalizer. Its object is traced after all variables, so that what the program
// holds in any other way is shown there. The field's name is what Named goes by.
type holder = struct{ AssertNoGrowth func() }

// A Held is an operation that is held.
type Held struct{ holder *holder }

// Hold makes what op refers to a root until Release.
func Hold(op func()) Held {
	h := Held{&holder{op}}
	runtime.SetFinalizer(h.holder, func(*holder) {})
	return h
}

// Release ends what Hold began.
func (h Held) Release() { runtime.SetFinalizer(h.holder, nil) }

// opName is the root that stands for op in messages.
const opName = "op"

// IsRoot reports whether a root is what an operation refers to, as Named has it.
func IsRoot(root *tree.Branch) bool {
	return root.Name == opName && root.Root.Kind == refscan.RootFinalizer
}

// Named gives the root of an operation that is held the name "op", and what op captures paths like
// "op.srv".
func Named(f tree.Forest) tree.Forest {
	var named tree.Forest
	for _, root := range f {
		if !strings.HasPrefix(root.Name, "finalizer(*struct { AssertNoGrowth func()") {
			named = append(named, root)
			continue
		}
		for _, op := range root.Children {
			op.Parent, op.Name, op.Path = nil, opName, opName
			repath(tree.Forest(op.Children), op)
			named = append(named, op)
		}
	}
	return named
}

// repath names the branches below one that has a new path.
func repath(f tree.Forest, parent *tree.Branch) {
	for _, b := range f {
		b.Path = nodename.Join(parent.Path, b.Name)
		repath(tree.Forest(b.Children), b)
	}
}
