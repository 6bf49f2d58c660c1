// Package containers leaks by lists, trees and other containers.
package containers

import (
	"container/heap"
	"container/list"
	"container/ring"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "containers", Cases: []judge.Case{
	{Name: "List", Leak: lists(false), Fixed: lists(true), Grows: judge.Objects, Culprit: `containers\.recent`},
	{Name: "Ring", Leak: rings(false), Fixed: rings(true), Grows: judge.Objects, Culprit: `containers\.circle`},
	{Name: "Heap", Leak: heaps(false), Fixed: heaps(true), Grows: judge.Objects, Culprit: `containers\.tasks`},
	{Name: "Linked", Leak: linked(false), Fixed: linked(true), Grows: judge.Objects, Culprit: `containers\.head`},
	{Name: "TailHeld", Leak: history(false), Fixed: history(true), Grows: judge.Objects, Culprit: `containers\.latest`},
	{Name: "Tree", Leak: trees(false), Fixed: trees(true), Grows: judge.Objects, Culprit: `containers\.root`},
	{Name: "Trie", Leak: tries(false), Fixed: tries(true), Grows: judge.Objects, Culprit: `containers\.prefixes`},
	{Name: "ParentPointers", Leak: parents(false), Fixed: parents(true), Grows: judge.Objects, Culprit: `containers\.page`},
	{Name: "GenericSet", Leak: genericSet(false), Fixed: genericSet(true), Grows: judge.Objects, Culprit: `containers\.tags`},
	{Name: "GenericStack", Leak: genericStack(false), Fixed: genericStack(true), Grows: judge.Objects, Culprit: `containers\.undo`},
	{Name: "GenericBus", Leak: genericBus(false), Fixed: genericBus(true), Grows: judge.Objects, Culprit: `containers\.updates`},
	{Name: "GenericCache", Leak: genericCache(false), Fixed: genericCache(true), Grows: judge.Objects, Culprit: `containers\.users`},

	{Name: "LRU", Healthy: lru, Grows: judge.Objects},
	{Name: "RingOfFixedSize", Healthy: fixedRing, Grows: judge.Objects},
	{Name: "HeapInUse", Healthy: heaps(true), Grows: judge.Objects},
	{Name: "Cycle", Healthy: judge.Op(cycle), Grows: judge.Objects},
}}

var recent = list.New()

func lists(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { recent.Init() })
		return func() {
			recent.PushBack(app.NewSession())
			if fixed && recent.Len() > 10 {
				recent.Remove(recent.Front())
			}
		}
	}
}

var circle = ring.New(1)

func rings(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { circle = ring.New(1) })
		return func() {
			r := ring.New(1)
			r.Value = app.NewSession()
			if circle.Link(r); fixed {
				circle.Unlink(1)
			}
		}
	}
}

type taskHeap []*app.Session

func (h taskHeap) Len() int           { return len(h) }
func (h taskHeap) Less(i, j int) bool { return h[i].ID < h[j].ID }
func (h taskHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *taskHeap) Push(x any)        { *h = append(*h, x.(*app.Session)) }

func (h *taskHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return s
}

var tasks taskHeap

func heaps(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { tasks = nil })
		return func() {
			heap.Push(&tasks, app.NewSession())
			if fixed && len(tasks) > 5 {
				heap.Pop(&tasks)
			}
		}
	}
}

type node struct {
	next    *node
	session *app.Session
}

var head *node

func linked(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { head = nil })
		return func() {
			head = &node{head, app.NewSession()}
			if fixed {
				head.next = nil
			}
		}
	}
}

// A version refers to the version before it.
type version struct {
	previous *version
	text     [100]byte
}

var latest = &version{}

func history(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { latest = &version{} })
		return func() {
			next := &version{previous: latest}
			if fixed {
				next.previous.previous = nil
			}
			latest = next
		}
	}
}

type branch struct {
	left, right *branch
	key         int
	session     *app.Session
}

var root *branch

func (b *branch) insert(key int) *branch {
	switch {
	case b == nil:
		return &branch{key: key, session: app.NewSession()}
	case key < b.key:
		b.left = b.left.insert(key)
	default:
		b.right = b.right.insert(key)
	}
	return b
}

func trees(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { root = nil })
		return func() {
			if fixed {
				root = nil
			}
			root = root.insert(app.Next() * 7919 % 100_003)
		}
	}
}

type trie struct{ below map[byte]*trie }

func (n *trie) add(word string) {
	for i := range len(word) {
		if n.below == nil {
			n.below = map[byte]*trie{}
		}
		if n.below[word[i]] == nil {
			n.below[word[i]] = &trie{}
		}
		n = n.below[word[i]]
	}
}

var prefixes trie

func tries(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { prefixes = trie{} })
		return func() {
			if fixed {
				prefixes = trie{}
			}
			prefixes.add(app.NewSession().ID)
		}
	}
}

// An element refers to its parent, and the parent to all children that it ever had.
type element struct {
	parent   *element
	children []*element
	text     string
}

var page = &element{}

func (e *element) detach(fixed bool) {
	if fixed {
		e.parent.children = e.parent.children[:len(e.parent.children)-1]
	}
	e.parent = nil
}

func parents(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { page = &element{} })
		return func() {
			e := &element{parent: page, text: app.NewSession().ID}
			page.children = append(page.children, e)
			e.detach(fixed)
		}
	}
}

// A set of anything comparable.
type set[T comparable] struct{ members map[T]struct{} }

func (s *set[T]) add(v T) {
	if s.members == nil {
		s.members = map[T]struct{}{}
	}
	s.members[v] = struct{}{}
}

func (s *set[T]) remove(v T) { delete(s.members, v) }

var tags set[string]

func genericSet(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { tags = set[string]{} })
		return func() {
			tag := app.NewSession().ID
			tags.add(tag)
			if fixed {
				tags.remove(tag)
			}
		}
	}
}

type stack[T any] struct{ items []T }

func (s *stack[T]) push(v T) { s.items = append(s.items, v) }

func (s *stack[T]) pop() (v T) {
	last := len(s.items) - 1
	v, s.items[last] = s.items[last], v
	s.items = s.items[:last]
	return v
}

var undo stack[*app.Session]

func genericStack(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { undo = stack[*app.Session]{} })
		return func() {
			undo.push(app.NewSession())
			if fixed {
				undo.pop()
			}
		}
	}
}

type bus[E any] struct{ handlers []func(E) }

func (b *bus[E]) on(f func(E)) (off func()) {
	b.handlers = append(b.handlers, f)
	n := len(b.handlers)
	return func() { b.handlers = b.handlers[:n-1] }
}

var updates bus[*app.Session]

func genericBus(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { updates = bus[*app.Session]{} })
		return func() {
			seen := app.NewSession()
			off := updates.on(func(s *app.Session) { seen = s; seen.Notify() })
			if fixed {
				off()
			}
		}
	}
}

// A cache of the values that a function makes.
type cache[K comparable, V any] struct {
	values map[K]*V
	make   func(K) *V
}

func (c *cache[K, V]) get(k K) *V {
	if v, ok := c.values[k]; ok {
		return v
	}
	if c.values == nil {
		c.values = map[K]*V{}
	}
	c.values[k] = c.make(k)
	return c.values[k]
}

var users = cache[int, app.Session]{make: func(int) *app.Session { return app.NewSession() }}

func genericCache(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(users.values) })
		return func() {
			key := app.Next()
			if fixed {
				key %= 16
			}
			users.get(key)
		}
	}
}

// An LRU cache of container/list and a map.
func lru(*testing.T) func() {
	order, byID := list.New(), map[string]*list.Element{}
	return func() {
		s := app.NewSession()
		byID[s.ID] = order.PushFront(s)
		if order.Len() > 20 {
			old := order.Remove(order.Back()).(*app.Session)
			delete(byID, old.ID)
		}
	}
}

func fixedRing(*testing.T) func() {
	r := ring.New(16)
	return func() {
		r.Value = app.NewSession()
		r = r.Next()
	}
}

func cycle() {
	a, b := &element{}, &element{}
	a.parent, b.parent = b, a
	a.children, b.children = []*element{b}, []*element{a}
}
