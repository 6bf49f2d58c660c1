package refscan

import (
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/pprofwire"
	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/heapgraph"
)

// A Report is the result of one scan: every reachable heap object, charged once to the root and the
// path of references that keeps it alive. Equal heaps give equal reports; no figure or name depends
// on addresses, goroutine numbers, hash seeds or the order of visits.
type Report struct {
	GoVersion string        `json:"go_version"`         // of the scanned program, such as "go1.26.8"
	Totals    Totals        `json:"totals"`             // the audit: what the scan reached against what the collector found alive
	Pause     time.Duration `json:"pause_ns"`           // how long the world was stopped for the snapshot
	Warnings  []string      `json:"warnings,omitempty"` // what could not be resolved, one sentence each
	Retained  bool          `json:"retained,omitempty"` // whether nodes say what they retain; see WithRetained
	Roots     []*Node       `json:"roots"`              // in a fixed order: by kind, then by name
	Types     []*Node       `json:"types,omitempty"`    // all objects of a type as one node, those that retain most first; if Retained

	index *debuginfo.Index // of the scanned program; nil in a report made by hand
	more  *extension       // nil unless the scan found out more than all scans do

	without   *UnavailableError         // why there is no index
	uncertain map[heapgraph.Shape]int64 // see CouldBe
}

// An extension carries what is linked only into programs that ask for it.
type extension struct {
	merge  func(to *Report, folded *Node, members []*Node) // completes a folded node
	types  []pprofwire.ValueType                           // further values of samples in a profile
	values func(*Node) []int64                             // those of a node
}

// Totals is the audit of a scan. Objects are those of the Go heap and bytes are size-class bytes, as
// in runtime.MemStats; the tool's own memory is in none of them.
//
// Where the program did not come to rest, some of what the collection before the snapshot found alive is garbage in
// it. What the collection after the snapshot finds dead, and the scan did not reach, counts neither as alive nor as missed.
type Totals struct {
	LiveObjects       int64 `json:"live_objects"` // what the collector found alive
	LiveBytes         int64 `json:"live_bytes"`
	AttributedObjects int64 `json:"attributed_objects"` // reached and charged to a root
	AttributedBytes   int64 `json:"attributed_bytes"`
	TypedBytes        int64 `json:"typed_bytes"`  // of those, with a known path and type
	MissedBytes       int64 `json:"missed_bytes"` // alive but not reached
	ExtraBytes        int64 `json:"extra_bytes"`  // reached but not alive
}

// RootKind says what sort of GC root a root node is.
type RootKind string

// The kinds of root, in the order in which they win ties.
const (
	RootGlobal    RootKind = "global"    // a package-level variable
	RootFrame     RootKind = "frame"     // a live variable in a goroutine's frame
	RootFinalizer RootKind = "finalizer" // what runtime.SetFinalizer keeps: the closure, and what the object refers to
	RootCleanup   RootKind = "cleanup"   // what runtime.AddCleanup keeps: the closure and its argument
	RootOther     RootKind = "other"     // the runtime's own roots, and what no named root reaches
)

// RootInfo is what a report knows of a root beyond its name.
type RootInfo struct {
	Kind    RootKind `json:"kind"`
	Package string   `json:"package,omitempty"` // import path of the package that declares the variable or the frame's function
	File    string   `json:"file,omitempty"`    // of the declaration, as the compiler recorded it; "" if unknown
	Line    int      `json:"line,omitempty"`

	// For frames only. Goroutines that agree in all of these are folded into one root.
	Func       string `json:"func,omitempty"`       // the frame's function
	Goroutine  string `json:"goroutine,omitempty"`  // the goroutine's entry function
	CreatedBy  string `json:"created_by,omitempty"` // the function with the go statement
	CreatedAt  string `json:"created_at,omitempty"` // its file:line
	Goroutines int64  `json:"goroutines,omitempty"` // how many goroutines are folded here
	Test       bool   `json:"test,omitempty"`       // a goroutine that runs a test function (under testing.tRunner), or the main goroutine of a test binary
	Caller     bool   `json:"caller,omitempty"`     // the goroutine that called Capture
}

// A Node is a root, or the objects that one kind of reference of its parent's objects leads to.
//
// Name is, for a root, "import/path.Var" or "import/path.Func.var"; for other nodes the reference:
// a field path ("conns", "state.buf"), an element ("[0]" to "[9]", then "[10+]"), "$mapkey" or
// "$mapval", either followed by further fields ("[3].buf", "$mapval.last"). A captured variable of a
// closure has the variable's name, a method value's receiver "$recv".
//
// Type is the type of the reference, with full import paths: "*example.com/app.Session",
// "map[string]int", "[]uint8", "string". For an interface it is the dynamic type.
//
// Objects and Bytes are flat: the objects at this node alone. A map counts as one object with the
// bytes of all its tables; entries whose key and value both lie inside the tables count as objects of
// 0 bytes at the "$mapval" child. Recursive types fold: a list is one node.
type Node struct {
	Name           string `json:"name"`
	Type           string `json:"type,omitempty"`
	Objects        int64  `json:"objects"`
	Bytes          int64  `json:"bytes"`
	UntypedObjects int64  `json:"untyped_objects,omitempty"` // of Objects, those without a known type, counted at their nearest typed holder
	UntypedBytes   int64  `json:"untyped_bytes,omitempty"`
	Elems          int64  `json:"elems,omitempty"` // for maps: entries, over all Objects
	Ended          int64  `json:"ended,omitempty"` // of Objects, those whose use is over: closed channels, files and connections, done contexts, stopped timers
	EndedState     string `json:"ended_state,omitempty"`

	// What cutting this node alone would free, if Report.Retained; see WithRetained.
	RetainedObjects int64 `json:"retained_objects,omitempty"`
	RetainedBytes   int64 `json:"retained_bytes,omitempty"`
	// Of the node's Total, what something else keeps alive, too: cutting this node alone would not free it.
	SharedObjects int64 `json:"shared_objects,omitempty"`
	SharedBytes   int64 `json:"shared_bytes,omitempty"`

	Root     *RootInfo `json:"root,omitempty"` // set on roots only
	Children []*Node   `json:"children,omitempty"`

	// Allocations say where objects of this node were allocated, as far as the memory profiler has recorded
	// it: largest first. Only WithAllocationSites fills them in.
	Allocations []Allocation `json:"allocations,omitempty"`

	held *heldNode // nil unless Report.Retained
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

// JoinPath appends a node's name to the path of its parent: ".name" for fields, "[3]" as it is.
func JoinPath(parent, name string) string {
	if parent == "" || strings.HasPrefix(name, "[") {
		return parent + name
	}
	return parent + "." + name
}

// Fold returns a copy of the tree in which elements are not told apart: "[0]" to "[10+]" and
// "$mapval" become "[*]", "$mapkey" becomes "[$key]", and nodes with equal name and type are merged.
// Goldens and messages use this form. What merged nodes retain is no sum: it is known to the reports
// that Scan makes, and others (read from JSON, say) lose it.
func (r *Report) Fold() *Report {
	f := *r
	f.Retained = f.Retained && f.more != nil
	f.Roots = f.foldNodes(r.Roots)
	return &f
}

func (r *Report) foldNodes(nodes []*Node) []*Node {
	type key struct {
		name, typ string
		root      RootInfo
	}
	var out []*Node
	members := make(map[*Node][]*Node)
	at := make(map[key]*Node)
	for _, n := range nodes {
		k := key{name: FoldName(n.Name), typ: n.Type}
		if n.Root != nil {
			k.root = *n.Root
			k.root.Goroutines = 0
		}
		m := at[k]
		if m == nil {
			m = &Node{Name: k.name, Type: n.Type}
			if n.Root != nil {
				root := *n.Root
				root.Goroutines = 0
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
		if n.Ended > 0 {
			m.Ended, m.EndedState = m.Ended+n.Ended, n.EndedState
		}
		m.Allocations = mergeAllocations(m.Allocations, n.Allocations)
		if n.Root != nil {
			m.Root.Goroutines += n.Root.Goroutines
		}
		members[m] = append(members[m], n)
	}
	for _, m := range out {
		if r.more != nil {
			r.more.merge(r, m, members[m])
		}
		var children []*Node
		for _, n := range members[m] {
			children = append(children, n.Children...)
		}
		m.Children = r.foldNodes(children)
	}
	return out
}

// FoldName rewrites one node name as Fold does.
func FoldName(name string) string {
	if !strings.ContainsAny(name, "[$") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		rest := name[i:]
		switch {
		case strings.HasPrefix(rest, "$mapval"):
			trimDot(&b)
			b.WriteString("[*]")
			i += len("$mapval")
		case strings.HasPrefix(rest, "$mapkey"):
			trimDot(&b)
			b.WriteString("[$key]")
			i += len("$mapkey")
		case rest[0] == '[' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				end = len(rest) - 1
			}
			b.WriteString("[*]")
			i += end + 1
		default:
			b.WriteByte(rest[0])
			i++
		}
	}
	return b.String()
}

func trimDot(b *strings.Builder) {
	if s := b.String(); strings.HasSuffix(s, ".") {
		b.Reset()
		b.WriteString(s[:len(s)-1])
	}
}
