package leakcheck

import "github.com/leakgate/leakgate/leakcheck/internal/request"

// MaxRetainedObjects allows at most n heap objects to be retained by the selection; see
// MaxRetainedBytes.
func (s Selector) MaxRetainedObjects(n int64) Bound {
	return Bound{request.Bound{Selector: s.of}}.MaxRetainedObjects(n)
}

// MaxRetainedBytes allows at most n bytes of heap to be retained by the selection: the memory that
// cutting it would free. Memory that something else keeps alive, too, would stay, so it does not
// count; MaxBytes counts it at the shortest path to it. To cut a root is to clear the variable; to
// cut a path, or a type, is to drop the objects there.
//
//	leakcheck.AssertRetained(t, leakcheck.Root("app.cache").MaxRetainedBytes(1<<20))
//
// If several roots or paths match, the bound applies to each by itself, since their retained sizes
// do not add up: two roots that share all they have retain nothing, and both together all of it.
// The message is about the one that retains most. For a type the bound applies to all objects
// together, wherever they are: an object that only two of them keep alive counts, and one that lies
// below another counts once.
//
// Memory of C code counts only with WithNative; a message says how much of it would go with the
// selection.
//
// It cannot be combined with Ignore and Since: the memory that cutting frees is one figure, and a
// baseline does not have it. Such an assertion takes about twice as long, and some 30 bytes an
// object and 4 a reference meanwhile; see refscan.WithRetained, also for what exactly counts.
func (s Selector) MaxRetainedBytes(n int64) Bound {
	return Bound{request.Bound{Selector: s.of}}.MaxRetainedBytes(n)
}

// MaxRetainedObjects also allows at most n heap objects to be retained. The last call counts.
func (b Bound) MaxRetainedObjects(n int64) Bound {
	b.of.Cut.Objects = &n
	return b
}

// MaxRetainedBytes also allows at most n bytes of heap to be retained. The last call counts.
func (b Bound) MaxRetainedBytes(n int64) Bound {
	b.of.Cut.Bytes = &n
	return b
}

// WithNative makes MaxRetainedObjects and MaxRetainedBytes also count those blocks of NativeMemory
// to which only the selection leads: a statement of a database in C goes with the Go object that
// has its address. MaxObjects and MaxBytes beside it count Go objects only.
//
//	leakcheck.AssertRetained(t,
//		leakcheck.Root("app.statements").MaxRetainedBytes(1<<20).WithNative())
//
// A root may be a variable that is the address of a block, and a path may end at blocks. C's memory
// is read conservatively: a stale word elsewhere may hold a few blocks, and a stale word in the
// selection may add a few. If the result cannot be determined, the verdict is unknown, as for
// NativeMemory; so it is if the process cannot be forked.
//
// It takes about three scans more for each matching root or path that leads to native memory, of
// which there may be 32, or for all objects of a type. It takes two for all of them, and reads all
// memory that C code may write to.
func (b Bound) WithNative() Bound {
	b.of.Cut.Native = true
	return b
}

// RetainedRecorded adds to the golden file a line for each root or path that the selector matches,
// with the memory that it retains by itself:
//
//	1205      4587520~100%  retained:example.com/app.cache      map[string]*example.com/app.Entry
//
// Bytes may double before the test fails, since some of them are nearly always a map's tables or a
// slice's spare capacity. Objects are not counted if inner nodes of a sync.Map or a sync.Pool are
// among them. Paths that Ignore leaves out have no lines of their own, but count for a root or path
// above them.
func (s Selector) RetainedRecorded() Option {
	return setting(func(r *request.Request) { r.Record(s.of) })
}
