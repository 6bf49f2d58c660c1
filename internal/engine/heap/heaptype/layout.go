package heaptype

// Layout says how an object's memory is to be read.
type Layout uint8

const (
	LayoutNone     Layout = iota
	LayoutValue           // one value of the type, seen through a pointer
	LayoutBoxed           // one value of the type, inside an interface
	LayoutArray           // values of the type, one behind the other
	LayoutString          // the bytes of a string
	LayoutMap             // the header of a map (internal/runtime/maps.Map)
	LayoutTrie            // the root node of an internal/sync.HashTrieMap
	LayoutChan            // a channel (runtime.hchan)
	LayoutClosure         // a code pointer and captured variables
	LayoutInternal        // a table, directory or buffer that belongs to a map or channel
)

// Confidence is how well founded a typing is; higher ranks win.
type Confidence uint8

const (
	FromInterior  Confidence = iota + 1 // a pointer into the object types a part of it
	FromStatic                          // the type of a reference to it
	FromDynamic                         // an interface's type word, a map, channel or closure
	FromAllocator                       // the allocator's own record
	FromOwner                           // part of a map or channel
)
