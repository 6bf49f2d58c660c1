package leakcheck

import (
	"reflect"

	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A Selector selects the part of the retained memory that a bound applies to. It becomes an Option
// with None, MaxObjects or MaxBytes.
type Selector struct{ of request.Selector }

// Root selects roots by name, each with all that it holds, whoever else holds it too: a package
// variable ("example.com/app.sessions"), a variable of a goroutine's function
// ("example.com/app.Serve.buf"), or a function ("example.com/app.Serve": all variables of its
// frames, and all frames of the goroutines that started in it).
//
// A root holds what the variable points to, the elements of its containers, and what their fields
// lead to, up to where something begins that another variable is nearer to: a server that sessions
// point back at belongs to the variable that has it, be it a variable of the test. If a root leads
// to more than its bound in that way, the log of the pass says so.
//
// Pending timers, finalizers and cleanups are named by the function that they run or the object
// that they hang on: "timer(context.WithTimeout)", "timer(app.(*Session).expire)",
// "finalizer(*app.conn)", "timer(...)" for all. Each name of a root that a message or report shows
// is one that Root takes, whether or not the root holds anything any more.
//
// The import path may be shortened to its last elements ("app.sessions"), or to the package's name:
// a variable of github.com/patrickmn/go-cache is "go-cache.items" or "cache.items", one of a
// command's test "main.sessions". "*" stands for any characters but "/", "**" and "..." for any at
// all. A pattern may match several variables. A pattern that no variable or function of the program
// matches fails the test.
//
// An assertion whose bounds are all on package variables, each named without wildcards, passes
// without a snapshot if everything that the variables lead to is within the bounds (unless Scope,
// Ignore or Full is given). That takes some ten microseconds, with the world stopped for them, and
// neither a collection nor a wait for the program to settle: objects that a finalizer or a
// goroutine is about to put into the variable do not count yet.
func Root(pattern string) Selector { return Selector{request.RootSelector(pattern)} }

// Path selects by the path from a root: "example.com/app.srv.conns[*].buf". What lies there counts
// with all that it holds, as for Root. Elements of slices, arrays and maps are "[*]", map keys
// "[$key]"; wildcards and short import paths are as for Root. A path that ends inside a struct
// selects all that the struct's fields hold. Fields of embedded structs are written in full:
// "app.srv.pool.idle", not "app.srv.idle". A path by a field that the struct there does not have
// fails the test.
func Path(pattern string) Selector { return Selector{request.PathSelector(pattern)} }

// Type selects the heap objects of type T, wherever they are held. T and *T are the same: the
// objects are those that a pointer to T, or an interface with a T in it, refers to. For maps,
// slices, strings and channels it is what the value refers to. Values that lie inside another
// object (an element of a []T, a field) are no objects of their own and do not count.
//
// No object has the type of an interface or of a function, so that such a bound is a mistake, which
// fails the test: an interface holds an object of another type, and a closure has the type of its
// function. Bound what holds them with Root or Path.
//
// If all bounds are on types and variables, and neither Scope, Ignore nor Full is given, the
// allocator's records may prove that no more objects can be of the type, without a snapshot.
func Type[T any]() Selector { return Selector{request.TypeSelector(reflect.TypeFor[T]())} }

// TypeNamed selects like Type, by the type's name: "example.com/app.Session", "app.*",
// "map[string]*app.Session". Wildcards and short import paths are as for Root. A pattern that no
// type of the program matches, or none that objects have, fails the test. Closures of a function
// are called as in messages: "func app.(*Server).Login.func1".
func TypeNamed(pattern string) Selector { return Selector{request.TypeNamedSelector(pattern)} }

// None demands that no heap objects are retained there.
func (s Selector) None() Bound {
	b := s.MaxObjects(0)
	b.of.None = true
	return b
}

// MaxObjects allows at most n heap objects.
func (s Selector) MaxObjects(n int64) Bound {
	return Bound{request.Bound{Selector: s.of}}.MaxObjects(n)
}

// MaxBytes allows at most n bytes of heap, counted in size classes as the Go heap hands them out.
func (s Selector) MaxBytes(n int64) Bound { return Bound{request.Bound{Selector: s.of}}.MaxBytes(n) }

// A Bound limits what a Selector selects. It is an Option of AssertRetained and VerifyTestMain.
type Bound struct{ of request.Bound }

// MaxObjects also allows at most n heap objects. The last call counts.
func (b Bound) MaxObjects(n int64) Bound {
	b.of.None = false
	b.of.MaxObjects = &n
	return b
}

// MaxBytes also allows at most n bytes of heap. The last call counts.
func (b Bound) MaxBytes(n int64) Bound {
	b.of.MaxBytes = &n
	return b
}

// String returns the bound as it is written in a test.
func (b Bound) String() string { return b.of.String() }

func (b Bound) apply(r *request.Request) { r.Limit(b.of) }
