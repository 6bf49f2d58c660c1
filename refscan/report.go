package refscan

import (
	"time"

	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/retain"
	"github.com/leakgate/leakgate/internal/nodename"
)

// A Report is the result of one scan: every reachable heap object, charged once to the root and the
// path of references that keeps it alive. Equal heaps give equal reports; no figure or name depends
// on addresses, goroutine numbers, hash seeds or the order of visits.
//
// A report can be written with encoding/json and read again. What was read has all figures, and
// folds and is written as a profile like the first one; but it does not know the program. RootNames
// and KnownRoot know the roots of the report alone then, TypeNames, PackageNames and Declaration
// know nothing, and CouldBe cannot tell.
type Report struct {
	// of the scanned program, such as "go1.26.8"
	GoVersion string `json:"go_version"`
	// the audit: what the scan reached against what the collector found alive
	Totals Totals `json:"totals"`
	// how long the world was stopped for the snapshot
	Pause time.Duration `json:"pause_ns"`
	// why this process was copied in place, which takes a longer pause than a fork; "" if it was
	// forked
	NotForked string `json:"not_forked,omitempty"`
	// what could not be resolved, one sentence each
	Warnings []string `json:"warnings,omitempty"`
	// Collections is how many garbage collections the program made by itself (with runtime.GC, say)
	// while it was looked at. It is at most of interest where objects were missed: some of them had
	// just become garbage then.
	Collections int `json:"collections,omitempty"`
	// Undecided says that the program did not come to rest and that there is no collection after
	// the snapshot to tell what had just become garbage in it. It is of interest where objects were
	// missed, too.
	Undecided bool `json:"undecided,omitempty"`
	// whether nodes say what they retain; see WithRetained
	Retained bool     `json:"retained,omitempty"`
	Stopped  *Stopped `json:"stopped,omitempty"` // nil in reports of this process
	Roots    []*Node  `json:"roots"`             // in a fixed order: by kind, then by name
	// all objects of a type as one node, those that retain most first; if Retained
	Types []*Node `json:"types,omitempty"`

	// Missed has what is alive but was not reached, by type: Type, Objects and Bytes of each node
	// count. Type is "" where it is not known, as of most objects up to 512 bytes.
	Missed []*Node `json:"missed,omitempty"`

	// NoDebugInfo is why the program's debug information could not be had, nil if the report has
	// names. See WithoutNames.
	NoDebugInfo *UnavailableError `json:"no_debug_info,omitempty"`
	// Together says what nodes that Fold merges hold together, which is no sum of what each of them
	// holds; if Retained. See Node.Together.
	Together []Together `json:"together,omitempty"`

	index *debuginfo.Index // of the scanned program; nil in a report made by hand or read from JSON

	uncertain map[attribute.Shape]int64 // see CouldBe; nil in a report that was read
}

// Together is what some nodes hold together. The figures mean what those of a Node do.
type Together struct {
	Nodes           int   `json:"nodes"` // how many they are
	RetainedObjects int64 `json:"retained_objects"`
	RetainedBytes   int64 `json:"retained_bytes"`
	SharedObjects   int64 `json:"shared_objects,omitempty"`
	SharedBytes     int64 `json:"shared_bytes,omitempty"`
	RootObjects     int64 `json:"root_objects,omitempty"`
	RootBytes       int64 `json:"root_bytes,omitempty"`
}

// Totals is the audit of a scan. Objects are those of the Go heap and bytes are size-class bytes,
// as in runtime.MemStats; the tool's own memory is in none of them.
//
// Where the program did not come to rest, some of what the collection before the snapshot found
// alive is garbage in it. What the collection after the snapshot finds dead, and the scan did not
// reach, counts neither as alive nor as missed.
type Totals struct {
	LiveObjects       int64 `json:"live_objects"` // what the collector found alive
	LiveBytes         int64 `json:"live_bytes"`
	AttributedObjects int64 `json:"attributed_objects"` // reached and charged to a root
	AttributedBytes   int64 `json:"attributed_bytes"`
	TypedBytes        int64 `json:"typed_bytes"`    // of those, with a known path and type
	MissedObjects     int64 `json:"missed_objects"` // alive but not reached
	MissedBytes       int64 `json:"missed_bytes"`
	ExtraBytes        int64 `json:"extra_bytes"` // reached but not alive
}

// excuse takes out what was missed and had become garbage.
func (t *Totals) excuse(objects, bytes int64) {
	t.MissedObjects, t.LiveObjects = t.MissedObjects-objects, t.LiveObjects-objects
	t.MissedBytes, t.LiveBytes = t.MissedBytes-bytes, t.LiveBytes-bytes
}

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
	// what nothing of Go's heap leads to of the memory of C code: a C variable, threads, or nothing
	// at all. Scan makes no such roots; they are in the reports that leakcheck leaves.
	RootNative RootKind = "native"
)

// RootInfo is what a report knows of a root beyond its name.
type RootInfo struct {
	Kind RootKind `json:"kind"`
	// import path of the package that declares the variable or the frame's function
	Package string `json:"package,omitempty"`
	// of the declaration, as the compiler recorded it, for timers that of the function; "" if
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

	// For timers only. Timers that would run the same are folded into one root. Its name says what
	// they would run: "timer(context.WithTimeout)", "timer(example.com/app.(*Session).expire)".
	Timers int64 `json:"timers,omitempty"` // how many pending timers are folded here
	// When the first and the last of them are due, counted from the snapshot; negative if overdue.
	// Both are 0 if that is not known: timers in a bubble of testing/synctest have a clock of their
	// own.
	DueFirst time.Duration `json:"due_first_ns,omitempty"`
	DueLast  time.Duration `json:"due_last_ns,omitempty"`
	// The shortest period of those that repeat, 0 if none does.
	Period time.Duration `json:"period_ns,omitempty"`
}

// kind returns what tells roots apart: all but the figures of what is folded into them.
func (r RootInfo) kind() RootInfo {
	r.Goroutines, r.Timers, r.DueFirst, r.DueLast, r.Period = 0, 0, 0, 0, 0
	return r
}

// add adds the figures of another root of the same kind.
func (r *RootInfo) add(other *RootInfo) {
	r.Goroutines += other.Goroutines
	switch due := other.DueFirst != 0 || other.DueLast != 0; {
	case due && (r.DueFirst != 0 || r.DueLast != 0):
		r.DueFirst, r.DueLast = min(r.DueFirst, other.DueFirst), max(r.DueLast, other.DueLast)
	case due:
		r.DueFirst, r.DueLast = other.DueFirst, other.DueLast
	}
	r.Timers += other.Timers
	if r.Period == 0 || other.Period != 0 && other.Period < r.Period {
		r.Period = other.Period
	}
}

// A Node is a root, or the objects that one kind of reference of its parent's objects leads to.
//
// Name is, for a root, "import/path.Var" or "import/path.Func.var"; for other nodes the reference:
// a field path ("conns", "state.buf"), an element ("[0]" to "[9]", then "[10+]"), "$mapkey" or
// "$mapval", either followed by further fields ("[3].buf", "$mapval.last"). A captured variable of
// a closure has the variable's name, a method value's receiver "$recv".
//
// Type is the type of the reference, with full import paths: "*example.com/app.Session",
// "map[string]int", "[]uint8", "string". For an interface it is the dynamic type. It is "native block"
// for blocks of C's malloc, which are in the reports that leakcheck leaves of assertions: a node
// below the objects that lead to them, with the number of blocks and the bytes of their chunks. They
// are in none of the Totals.
//
// Objects and Bytes are flat: the objects at this node alone. A map counts as one object with the
// bytes of all its tables; entries whose key and value both lie inside the tables count as objects
// of 0 bytes at the "$mapval" child. Recursive types fold: a list is one node.
//
// Len, Cap and Beyond tell of slices that are shorter than what their arrays keep alive. Where a
// reference of another kind leads to such an array too, or one found later reaches further, they
// are 0.
type Node struct {
	Name    string `json:"name"`
	Type    string `json:"type,omitempty"`
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
	// of Objects, those without a known type, counted at their nearest typed holder
	UntypedObjects int64 `json:"untyped_objects,omitempty"`
	UntypedBytes   int64 `json:"untyped_bytes,omitempty"`
	Elems          int64 `json:"elems,omitempty"` // for maps: entries, over all Objects
	// of slices with objects behind elements outside their length: the elements within it, over all
	// these slices' arrays
	Len int64 `json:"len,omitempty"`
	// the elements of these arrays from their start to the slices' capacity
	Cap int64 `json:"cap,omitempty"`
	// of Objects, those behind elements that lie before the start or beyond the length of their
	// slices; 0 where that is not sure
	Beyond int64 `json:"beyond,omitempty"`
	// of Bytes, those that no slice and no string reaches, in blocks without pointers of 256 bytes
	// and more that slices and strings reach a quarter of, or less; 0 where there are more than
	// 131,072 such blocks
	UnreachedBytes int64 `json:"unreached_bytes,omitempty"`
	// of Objects, those whose use is over: closed channels, files and connections, done contexts,
	// stopped timers
	Ended      int64  `json:"ended,omitempty"`
	EndedState string `json:"ended_state,omitempty"`
	// the path from one of Objects to the next, where a recursive type folds here: "next"
	Recursion string `json:"recursion,omitempty"`

	// What cutting this node alone would free, if Report.Retained; see WithRetained.
	RetainedObjects int64 `json:"retained_objects,omitempty"`
	RetainedBytes   int64 `json:"retained_bytes,omitempty"`
	// Of the node's Total, what something else keeps alive, too: cutting this node alone would not
	// free it.
	SharedObjects int64 `json:"shared_objects,omitempty"`
	SharedBytes   int64 `json:"shared_bytes,omitempty"`
	// Of Objects and Bytes, what nothing but the root on the node's path keeps alive: clearing that
	// root would free it.
	RootObjects int64 `json:"root_objects,omitempty"`
	RootBytes   int64 `json:"root_bytes,omitempty"`
	// One more than the index in Report.Together of what this node and those that Fold merges it
	// with hold together; 0 if it is merged with none.
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

// Fold returns a copy of the tree in which elements are not told apart: "[0]" to "[10+]" and
// "$mapval" become "[*]", "$mapkey" becomes "[$key]", and nodes with equal name and type are
// merged. Goldens and messages use this form. What merged nodes retain is no sum, but what Together
// says: it is lost, and Retained is false, where the nodes are no longer those of the scan.
func (r *Report) Fold() *Report {
	f := *r
	f.Roots = foldNodes(r.Roots, func(folded *Node, members []*Node) {
		if r.Retained && !r.hold(folded, members) {
			f.Retained = false
		}
	})
	f.Together = nil
	return &f
}

// hold gives a folded node what its members hold. It reports whether that is known of just these.
func (r *Report) hold(folded *Node, members []*Node) bool {
	first := members[0]
	if first.Together <= 0 || first.Together > len(r.Together) {
		folded.hold(retain.Held{
			Objects: first.RetainedObjects, Bytes: first.RetainedBytes, SharedObjects: first.SharedObjects, SharedBytes: first.SharedBytes,
			RootObjects: first.RootObjects, RootBytes: first.RootBytes,
		})
		return len(members) == 1
	}
	t := r.Together[first.Together-1]
	folded.hold(retain.Held{
		Objects: t.RetainedObjects, Bytes: t.RetainedBytes, SharedObjects: t.SharedObjects, SharedBytes: t.SharedBytes,
		RootObjects: t.RootObjects, RootBytes: t.RootBytes,
	})
	same := len(members) == t.Nodes
	for _, n := range members {
		same = same && n.Together == first.Together
	}
	return same
}

func (n *Node) hold(h retain.Held) {
	n.RetainedObjects, n.RetainedBytes = h.Objects, h.Bytes
	n.SharedObjects, n.SharedBytes = h.SharedObjects, h.SharedBytes
	n.RootObjects, n.RootBytes = h.RootObjects, h.RootBytes
}

// foldNodes folds nodes and all below them; merged is called with each folded node and those that
// it was made of.
func foldNodes(nodes []*Node, merged func(folded *Node, members []*Node)) []*Node {
	type key struct {
		name, typ string
		root      RootInfo
	}
	var out []*Node
	members := make(map[*Node][]*Node)
	at := make(map[key]*Node)
	for _, n := range nodes {
		k := key{name: nodename.Fold(n.Name), typ: n.Type}
		if n.Root != nil {
			k.root = n.Root.kind()
		}
		m := at[k]
		if m == nil {
			m = &Node{Name: k.name, Type: n.Type}
			if n.Root != nil {
				root := n.Root.kind()
				m.Root = &root
			}
			at[k] = m
			out = append(out, m)
		}
		m.Objects += n.Objects
		m.Bytes += n.Bytes
		m.UntypedObjects += n.UntypedObjects
		m.UntypedBytes += n.UntypedBytes
		m.Elems += n.Elems
		m.Len += n.Len
		m.Cap += n.Cap
		m.Beyond += n.Beyond
		m.UnreachedBytes += n.UnreachedBytes
		if n.Ended > 0 {
			m.Ended, m.EndedState = m.Ended+n.Ended, n.EndedState
		}
		m.Allocations = mergeAllocations(m.Allocations, n.Allocations)
		if m.Recursion == "" {
			m.Recursion = nodename.Fold(n.Recursion)
		}
		if n.Root != nil {
			m.Root.add(n.Root)
		}
		members[m] = append(members[m], n)
	}
	for _, m := range out {
		merged(m, members[m])
		var children []*Node
		for _, n := range members[m] {
			children = append(children, n.Children...)
		}
		m.Children = foldNodes(children, merged)
	}
	return out
}
