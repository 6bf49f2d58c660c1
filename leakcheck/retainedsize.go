package leakcheck

import "github.com/leakgate/leakgate/leakcheck/internal/request"

// MaxRetainedObjects allows at most n heap objects to be retained by what is selected; see
// MaxRetainedBytes.
func (s Selector) MaxRetainedObjects(n int64) Bound {
	return Bound{request.Bound{Selector: s.of}}.MaxRetainedObjects(n)
}

// MaxRetainedBytes allows at most n bytes of heap to be retained by what is selected: that is what
// cutting it would free. What something else keeps alive, too, would stay, so it does not count;
// MaxBytes counts it where the shortest path to it is. For a root, to cut is to clear the variable;
// for a path, or a type, to drop the objects there.
//
//	leakcheck.AssertRetained(t, leakcheck.Root("app.cache").MaxRetainedBytes(1<<20))
//
// Where several roots or paths match, each is held to the bound by itself, since what they retain
// does not add up: two roots that share all they have retain nothing, and both together all of it.
// The message is about the one that retains most. Objects of a type are held to the bound together,
// wherever they are: an object that only two of them keep alive counts, and one that lies below
// another counts once.
//
// Memory of C code does not count, but with WithNative; a message says how much of it would go with
// what is cut.
//
// Ignore and Since do not go with it: what cutting frees is one figure, and a baseline does not
// have it. Such an assertion takes about twice as long, and some 30 bytes an object and 4 a
// reference meanwhile; see refscan.WithRetained, also for what exactly counts.
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

// WithNative has MaxRetainedObjects and MaxRetainedBytes count the blocks that C code has from malloc,
// too, of those that NativeMemory means, where nothing leads to them but what is cut: a statement of
// a database in C goes with the Go object that has its address. MaxObjects and MaxBytes beside it are
// about Go objects.
//
//	leakcheck.AssertRetained(t, leakcheck.Root("app.statements").MaxRetainedBytes(1<<20).WithNative())
//
// A root may be a variable that is the address of a block, and a path may end at blocks. C's memory is
// read conservatively, so that a word that is left over somewhere may hold a few blocks, and one among
// what is cut may add a few. What cannot be told is unknown, as for NativeMemory, also without debug
// information, or where the process cannot be forked.
//
// It takes about three scans more for each root or path that matches and leads to native memory, of
// which there may be 32, or for all objects of a type, and two for all of them, and reads all memory
// that C code may write to.
func (b Bound) WithNative() Bound {
	b.of.Cut.Native = true
	return b
}

// RetainedRecorded adds to the golden file what each root or path that the selector matches retains
// by itself, a line each:
//
//	1205      4587520~100%  retained:example.com/app.cache                map[string]*example.com/app.Entry
//
// Bytes may double before the test fails, since some of them are nearly always a map's tables or a
// slice's spare capacity. Objects are not counted where a sync.Map's or a sync.Pool's inner nodes
// are among them. What Ignore leaves out has no lines of its own, but counts where something above
// it is cut.
func (s Selector) RetainedRecorded() Option {
	return setting(func(r *request.Request) { r.Record(s.of) })
}
