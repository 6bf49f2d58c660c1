// Package heldop gives the objects that an operation (op) of a test refers to a root of their own
// in reports. Without it they would hang on a variable of this module's functions, which are the
// tool's own and do not count.
package heldop

import (
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A holder refers to op and has a finalizer. A scan traces finalizers' objects after all variables,
// so that it shows what the program holds in any other way there. Named recognizes the root by the
// field's name.
type holder = struct{ AssertNoGrowth func() }

// A Held is an operation for which Hold has made a root.
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

// IsRoot reports whether a root is one that Named has named "op".
func IsRoot(root *tree.Branch) bool {
	return root.Name == opName && root.Root.Kind == refscan.RootFinalizer
}

// Named renames the root of an operation that Hold holds to "op", and what op captures to paths
// like "op.srv".
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

// repath sets the paths of the branches below a parent whose path has changed.
func repath(f tree.Forest, parent *tree.Branch) {
	for _, b := range f {
		b.Path = nodename.Join(parent.Path, b.Name)
		repath(tree.Forest(b.Children), b)
	}
}
