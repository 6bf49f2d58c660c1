package root

import (
	"strings"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Class is the priority of a root: roots of lower classes claim objects first, and those of higher
// classes get what is left.
type Class uint8

const (
	ClassNamed      Class = iota // variables of packages and frames
	ClassGoroutine               // variables of frames, in an order that has those of packages first
	ClassTest                    // variables of tests, in an order that has them last
	ClassEarlyTimer              // timers, in an order that leaves something out
	ClassLeftOut                 // what an Order leaves out
	ClassTemporary               // stack slots without a name
	// timers: variables that refer to a timer, or to what it runs, come first
	ClassTimer
	// finalizers and cleanups: an object that they hang on may have holders too
	ClassSpecial
	// pending timers of this tool, before ClassRuntime with the arrays of all timers: not reported
	ClassToolTimer
	ClassRuntime // the runtime's own variables and frames, compiler-made data
	ClassTool    // this tool's own: not reported
	ClassWeak    // handles of weak pointers, which their objects keep: those of the tool are its own
	ClassRest    // objects that no root leads to
)

// IsTest reports whether roots of a class are variables of tests.
func (c Class) IsTest() bool { return c == ClassTest }

// IsTool reports whether roots of a class are this tool's own.
func (c Class) IsTool() bool { return c == ClassTool || c == ClassToolTimer }

// A Program classifies the packages and goroutines of a program.
type Program struct {
	// of the program; nil if they are not known
	Modules *symbol.Modules
	// whether a package is part of this tool; nil: none is
	IsTool func(pkg string) bool
	// whether a goroutine runs a test; nil: none does
	RunsTests func(*goruntime.Model, *goruntime.Goroutine) bool
	// which roots claim first; the zero value is the order by distance alone
	Order Order
	// Listed keeps what List returns, for further calls with the same heap; nil: it is listed anew
	Listed *[]*Entry
}

// An Order says which roots, and which paths, claim objects before others. It depends on names
// alone.
type Order struct {
	// PackagesFirst: variables of goroutines get what no variable of a package holds. Otherwise the
	// nearest of all variables claims.
	PackagesFirst bool
	// TestsLast: variables of tests, and package testing's own, get what no other variable holds.
	TestsLast bool
	// LeftOut returns true for roots that get only what no other variable, test or timer holds;
	// nil: there are none.
	LeftOut func(*Root) bool
	// LeftOutPath does so for the nodes of a tree, by their paths in a folded report.
	LeftOutPath func(path string, of *Root) bool
}

// class returns the class that a root of a class has in the order.
func (o *Order) class(r *Root) Class {
	switch {
	case r.Class != ClassNamed && r.Class != ClassTimer:
	case o.LeftOut != nil && o.LeftOut(r):
		return ClassLeftOut
	case r.Class == ClassTimer && o.LeftOut != nil:
		return ClassEarlyTimer
	case r.OfTest && o.TestsLast:
		return ClassTest
	case r.Class == ClassNamed && r.Kind == KindFrame && o.PackagesFirst:
		return ClassGoroutine
	}
	return r.Class
}

func (p *Program) isTool(pkg string) bool { return p.IsTool != nil && p.IsTool(pkg) }

// classOf returns the class of the variables of a package.
func (p *Program) classOf(pkg string) Class {
	switch {
	case p.isTool(pkg):
		return ClassTool
	case symbol.IsRuntime(pkg):
		return ClassRuntime
	}
	return ClassNamed
}

// typeClass returns the lowest class of the roots that may claim objects of a type.
func (p *Program) typeClass(name string) Class {
	switch {
	case p.isTool(symbol.Package(strings.TrimPrefix(name, "func "))):
		return ClassTool
	case name == "runtime.g" || name == "runtime.m" || name == "runtime.p" || name == "runtime.sudog",
		name == "runtime.synctestBubble":
		return ClassRuntime
	}
	return ClassNamed
}

// Classes remembers the class of each type: the lowest class of the roots that may claim its
// objects. It is not safe for concurrent use.
type Classes struct {
	program Program
	types   *heaptype.Table
	byType  []Class // by the index of the type: 1 + its class; 0: not known yet
}

// NewClasses returns the classes of the types of a program.
func NewClasses(types *heaptype.Table, program Program) *Classes {
	return &Classes{types: types, program: program}
}

// Of returns the class of the objects of the type with an index. Roots of any class may claim
// objects without a type.
func (c *Classes) Of(index int32) Class {
	if index == 0 {
		return ClassNamed
	}
	if int(index) >= len(c.byType) {
		c.byType = append(c.byType, make([]Class, int(index)+1-len(c.byType))...)
	}
	if c.byType[index] == 0 {
		c.byType[index] = 1 + c.program.typeClass(c.types.At(index).Name)
	}
	return c.byType[index] - 1
}
