package growth

import (
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// An opHolder makes what op refers to a root: the variables of this package's functions are the
// tool's own and do not count. A finalizer's object is traced after all variables, so that what the
// program holds in any other way is shown there. The field's name is what opRoot goes by.
type opHolder = struct{ AssertNoGrowth func() }

type heldOp struct{ holder *opHolder }

func holdOp(op func()) heldOp {
	h := heldOp{&opHolder{op}}
	runtime.SetFinalizer(h.holder, func(*opHolder) {})
	return h
}

func (h heldOp) release() { runtime.SetFinalizer(h.holder, nil) }

// opName is the root that stands for op in messages.
const opName = "op"

func isOpRoot(root *tree.Branch) bool {
	return root.Name == opName && root.Root.Kind == refscan.RootFinalizer
}

// namingOp gives the root of an opHolder the name "op", and what op captures paths like "op.srv".
func namingOp(f tree.Forest) tree.Forest {
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
