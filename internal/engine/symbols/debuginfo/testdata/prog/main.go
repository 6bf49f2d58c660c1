// Command prog has one of each thing that an index of debug information knows about.
package main

import (
	"os"
	"runtime"

	cache "example.com/prog/go-cache"
	prog "example.com/prog/v2"
	"example.com/prog/yaml.v3"
)

// T is a type with all kinds of fields.
type T struct {
	Next    *T
	Name    string
	List    []*T
	Table   map[string]*T
	Queue   chan *T
	Call    func(*T) *T
	Any     any
	Err     error
	Array   [3]*T
	Numbers [2]int32
	inner
}

type inner struct{ deep *int }

// List is generic.
type List[E any] struct {
	Head *E
	Len  int
}

// Push is a method of a generic type.
func (l *List[E]) Push(e *E) { l.Head, l.Len = e, l.Len+1 }

// First is not inlined.
//
//go:noinline
func (l *List[E]) First() *E { return l.Head }

// methodValues has wrappers in shaped code: of a method that is inlined, and of one that is called.
//
//go:noinline
func methodValues[E any](l *List[E]) (func(*E), func() *E) { return l.Push, l.First }

var (
	root    = &T{Name: "root"}
	numbers [4]int
	list    List[T]
	hooks   []func() *T
	methods []func(*T)
)

// frame has variables in its frame: some escape, some are parts of strings and slices, some are in blocks.
//
//go:noinline
func frame(t *T, names []string, n int) (out *T) {
	escapes := T{Name: "escapes"}
	keep(&escapes)
	for i, name := range names {
		block := &T{Name: name}
		keep(block)
		if i > n {
			out = block
		}
		runtime.KeepAlive(name)
	}
	keep(t)
	keep(&escapes)
	return inlined(out, t)
}

func inlined(a, b *T) *T {
	local := a
	keep(local)
	if local == nil {
		return b
	}
	return local
}

//go:noinline
func keep(t *T) { root.Next = t }

// closure captures by value and by reference.
//
//go:noinline
func closure(t *T, n int) func() *T {
	count := 0
	return func() *T {
		count++
		for range count + n {
			keep(t)
		}
		return t
	}
}

// Method is used as a method value.
//
//go:noinline
func (t *T) Method(u *T) { t.Next = u }

func main() {
	hooks = append(hooks, closure(root, len(os.Args)))
	methods = append(methods, root.Method)
	push, first := methodValues(&list)
	push(frame(root, os.Args, numbers[0]))
	keep(first())
	clear(cache.Table)
	clear(prog.Table)
	clear(yaml.Table)
	for _, h := range hooks {
		methods[0](h())
	}
}
