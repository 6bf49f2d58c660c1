package tree

import (
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// An opHolder refers to op and has a finalizer. A scan traces finalizers' objects after all
// variables, so that it shows what the program holds in any other way there. NameHeldOps recognizes
// the root by the field's name.
type opHolder = struct{ AssertNoGrowth func() }

// A HeldOp is an operation (op) of a test for which HoldOp has made a root. Without it what op
// refers to would hang on a variable of this module's functions, which are the tool's own and do
// not count.
type HeldOp struct{ holder *opHolder }

// HoldOp makes what op refers to a root until Release.
func HoldOp(op func()) HeldOp {
	h := HeldOp{&opHolder{op}}
	runtime.SetFinalizer(h.holder, func(*opHolder) {})
	return h
}

// Release ends what HoldOp began.
func (h HeldOp) Release() { runtime.SetFinalizer(h.holder, nil) }

// heldOpRoot is the root that HoldOp makes, in reports, and heldOpPath what op is below it.
const (
	heldOpRoot = "finalizer(*struct { AssertNoGrowth func() })"
	heldOpPath = heldOpRoot + ".AssertNoGrowth"
)

// ReportPath returns the path of a branch in reports, which NameHeldOps may have changed.
func (b *Branch) ReportPath() string {
	if below, ok := strings.CutPrefix(b.Path, opName); ok && b.Root.Kind == refscan.RootFinalizer {
		return heldOpPath + below
	}
	return b.Path
}

// opName is the root that stands for op in messages.
const opName = "op"

// IsHeldOp reports whether a root is one that NameHeldOps has named "op".
func IsHeldOp(root *Branch) bool {
	return root.Name == opName && root.Root.Kind == refscan.RootFinalizer
}

// NameHeldOps renames the root of an operation that HoldOp holds to "op", and what op captures to
// paths like "op.srv".
func NameHeldOps(f Forest) Forest {
	var named Forest
	for _, root := range f {
		if !strings.HasPrefix(root.Name, heldOpRoot) {
			named = append(named, root)
			continue
		}
		for _, op := range root.Children {
			op.Parent, op.Name, op.Path = nil, opName, opName
			repath(Forest(op.Children), op)
			named = append(named, op)
		}
	}
	return named
}

// repath sets the paths of the branches below a parent whose path has changed.
func repath(f Forest, parent *Branch) {
	for _, b := range f {
		b.Path = symbol.JoinPath(parent.Path, b.Name)
		repath(Forest(b.Children), b)
	}
}
