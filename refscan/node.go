package refscan

import (
	"time"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
)

// RootKind says what sort of GC root a root node is.
type RootKind string

// The kinds of root, in the order in which they win ties.
const (
	RootGlobal RootKind = "global" // a package-level variable
	RootFrame  RootKind = "frame"  // a live variable in a goroutine's frame
	// what a pending timer keeps: the timer, its function or channel, and what they refer to
	RootTimer RootKind = "timer"
	// what runtime.SetFinalizer keeps: the closure, what the object refers to, and the object if
	// nothing else reaches it
	RootFinalizer RootKind = "finalizer"
	// what runtime.AddCleanup keeps: the closure and its argument
	RootCleanup RootKind = "cleanup"
	RootOther   RootKind = "other" // the runtime's own roots, and what no named root reaches
	// memory of C code that nothing on Go's heap leads to: a C variable, threads, or nothing at all
	// holds it. Scan makes no such roots; they are in the reports that leakcheck leaves.
	RootNative RootKind = "native"
)

// RootInfo describes a root beyond its name.
type RootInfo struct {
	Kind RootKind `json:"kind"`
	// import path of the package that declares the variable or the frame's function
	Package string `json:"package,omitempty"`
	// position of the declaration, as the compiler recorded it; for timers, of the function; "" if
	// unknown
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`

	// For frames only. Goroutines that agree in all of these are folded into one root.
	Func       string `json:"func,omitempty"`       // the frame's function
	Goroutine  string `json:"goroutine,omitempty"`  // the goroutine's entry function
	CreatedBy  string `json:"created_by,omitempty"` // the function with the go statement
	CreatedAt  string `json:"created_at,omitempty"` // its file:line
	Goroutines int64  `json:"goroutines,omitempty"` // how many goroutines are folded here
	// a goroutine that runs a test function (under testing.tRunner), or the main goroutine of a
	// test binary
	Test   bool `json:"test,omitempty"`
	Caller bool `json:"caller,omitempty"` // the goroutine that called Capture

	// For timers only. Timers with the same effect are folded into one root. Its name says what
	// they run: "timer(context.WithTimeout)", "timer(example.com/app.(*Session).expire)".
	Timers int64 `json:"timers,omitempty"` // how many pending timers are folded here
	// When the first and the last of them are due, counted from the snapshot; negative if overdue.
	// Both are 0 if that is not known: timers in a bubble of testing/synctest have a clock of their
	// own.
	DueFirst time.Duration `json:"due_first_ns,omitempty"`
	DueLast  time.Duration `json:"due_last_ns,omitempty"`
	// The shortest period of those that repeat, 0 if none does.
	Period time.Duration `json:"period_ns,omitempty"`
}

// Figures count what is at a node alone: Objects and Bytes; of these the untyped ones, those that
// are Ended, the bytes that nothing reaches, and those that are room for more; the Elems of maps;
// and Len, Cap and Beyond of slices that are shorter than the arrays that they keep alive. These
// three are 0 where a reference of another kind leads to the array, too, or where one that is found
// later reaches further into it. Add and Sub add and subtract those of nodes.
type Figures = attribute.Figures

// A Node is a root, or the set of objects that one kind of reference from its parent's objects
// leads to.
//
// Name is, for a root, "import/path.Var" or "import/path.Func.var"; for other nodes the reference:
// a field path ("conns", "state.buf"), an element ("[0]" to "[9]", then "[10+]"), "$mapkey" or
// "$mapval", either followed by further fields ("[3].buf", "$mapval.last"). A captured variable of
// a closure has the variable's name, a method value's receiver "$recv".
//
// Type is the type of the reference, with full import paths: "*example.com/app.Session",
// "map[string]int", "[]uint8", "string". For an interface it is the dynamic type. It is "native
// block" for blocks of C's malloc: a node below the objects that lead to them, with the number of
// blocks and the bytes of their chunks. Only the reports that leakcheck leaves of assertions have
// such nodes, and none of the Totals includes them.
//
// The figures are flat: those of the objects at this node alone. Recursive types fold: a list is
// one node.
type Node struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
	Figures
	// state of the objects that are Ended: "closed", "done", "stopped or expired"
	EndedState string `json:"ended_state,omitempty"`
	// in a folded report, where one element of an array of up to ten has, with all below it, at
	// least ten times the objects that each of the others has on average: its index, and its
	// objects; these are 0 if there is no such element
	Element        int   `json:"element,omitempty"`
	ElementObjects int64 `json:"element_objects,omitempty"`
	// where a recursive type folds: the path from one of Objects to the next, such as "next"
	Recursion string `json:"recursion,omitempty"`

	// What cutting this node alone would free, if Report.Retained; see WithRetained.
	RetainedObjects int64 `json:"retained_objects,omitempty"`
	RetainedBytes   int64 `json:"retained_bytes,omitempty"`
	// The part of the node's Total that something else keeps alive, too: cutting this node alone
	// would not free it.
	SharedObjects int64 `json:"shared_objects,omitempty"`
	SharedBytes   int64 `json:"shared_bytes,omitempty"`
	// The part of Objects and Bytes that only the root on the node's path keeps alive: clearing
	// that root would free it.
	RootObjects int64 `json:"root_objects,omitempty"`
	RootBytes   int64 `json:"root_bytes,omitempty"`
	// 1 + the index in Report.Together of what this node retains together with the nodes that Fold
	// merges it with; 0 if Fold merges it with none.
	Together int `json:"together,omitempty"`

	Root     *RootInfo `json:"root,omitempty"` // set on roots only
	Children []*Node   `json:"children,omitempty"`

	// Allocations say where objects of this node were allocated, as far as the memory profiler has
	// recorded it: largest first. Only WithAllocationSites fills them in.
	Allocations []Allocation `json:"allocations,omitempty"`
}

// Total returns the objects and bytes of the node and everything below it.
func (n *Node) Total() (objects, bytes int64) {
	objects, bytes = n.Objects, n.Bytes
	for _, c := range n.Children {
		o, b := c.Total()
		objects += o
		bytes += b
	}
	return objects, bytes
}

// Together is what several nodes retain together. The figures mean what those of a Node do.
type Together struct {
	Nodes           int   `json:"nodes"` // how many nodes
	RetainedObjects int64 `json:"retained_objects"`
	RetainedBytes   int64 `json:"retained_bytes"`
	SharedObjects   int64 `json:"shared_objects,omitempty"`
	SharedBytes     int64 `json:"shared_bytes,omitempty"`
	RootObjects     int64 `json:"root_objects,omitempty"`
	RootBytes       int64 `json:"root_bytes,omitempty"`
}

// An Allocation is a place where objects were allocated.
type Allocation struct {
	Objects int64 `json:"objects"` // exact, not scaled up
	Bytes   int64 `json:"bytes"`
	// the innermost first, without the allocator's own functions
	Stack []SourceFrame `json:"stack"`
}

// A SourceFrame is a function on a stack, inlined ones included, and its position in the source.
type SourceFrame struct {
	Func string `json:"func"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}
