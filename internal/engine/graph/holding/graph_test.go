package holding_test

import (
	"math/rand/v2"
	"unsafe"
)

// Types of random graphs of things that hold each other. No object shares a block. The only
// references to an object of the holder's own type are those to the next item or configuration.
type (
	hService struct {
		items  []*hItem
		index  map[int]*hItem
		queue  chan *hItem
		config *hConfig
		newest *hItem
		rows   []hRow
	}
	hItem struct {
		next    *hItem
		service *hService
		config  *hConfig
		data    *hData
		value   any
		make    func() *hData
		parts   [2]*hData
		kids    []*hItem
	}
	hConfig struct {
		data   *hData
		values map[int]any
		in     hRow
	}
	hData struct {
		id      int
		back    *hItem
		service *hService
	}
	hRow struct {
		data   *hData
		config *hConfig
	}
	hDirect struct{ data *hData } // an interface has its pointer
)

// A hThing is what the builder knows of an object. Addresses are numbers here, which keep nothing
// alive.
type hThing struct {
	addr uintptr
	ties []hTie
}

// A hTie is a reference to a thing, as the builder made it.
type hTie struct {
	to      uintptr
	crosses bool // to another thing
	element bool // it lies in an element of a container
	recurs  bool // it leads from node to node of a list
}

// Sorts of ties.
var (
	hJoins   = hTie{}
	hCrosses = hTie{crosses: true}
	hElement = hTie{element: true}
	hInRow   = hTie{crosses: true, element: true}
	hNext    = hTie{element: true, recurs: true}
)

// hGraph is a graph as its builder knows it.
type hGraph struct {
	things    map[uintptr]*hThing
	variables []*hVariable
	paths     map[string][]uintptr // what the nodes of some paths begin with
}

func (g *hGraph) thing(p unsafe.Pointer) *hThing {
	t := g.things[uintptr(p)]
	if t == nil {
		t = &hThing{addr: uintptr(p)}
		g.things[t.addr] = t
	}
	return t
}

func (t *hThing) tie(sort hTie, to unsafe.Pointer) {
	if to != nil {
		sort.to = uintptr(to)
		t.ties = append(t.ties, sort)
	}
}

// hBuilder makes a random graph.
type hBuilder struct {
	hGraph
	rng      *rand.Rand
	services []*hService
	items    []*hItem
	configs  []*hConfig
	data     []*hData
}

func pickOf[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// maybe picks one of from, or none.
func maybe[T any](b *hBuilder, from []*T, in int) *T {
	if b.rng.IntN(in) != 0 {
		return nil
	}
	return pickOf(b.rng, from)
}

// wordOf returns the word that a map, channel or func consists of.
func wordOf[T any](v *T) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(v)) }

func (b *hBuilder) list(most int) []*hItem {
	n := b.rng.IntN(most + 1)
	if n == 0 {
		return nil
	}
	list := make([]*hItem, n)
	array := b.thing(unsafe.Pointer(unsafe.SliceData(list)))
	for i := range list {
		list[i] = pickOf(b.rng, b.items)
		array.tie(hElement, unsafe.Pointer(list[i]))
	}
	return list
}

func (b *hBuilder) mapOf(most int) map[int]*hItem {
	n := b.rng.IntN(most + 1)
	if n == 0 {
		return nil
	}
	m := make(map[int]*hItem)
	t := b.thing(wordOf(&m))
	for k := range n {
		m[k] = pickOf(b.rng, b.items)
		t.tie(hElement, unsafe.Pointer(m[k]))
	}
	return m
}

func (b *hBuilder) channel(most int) chan *hItem {
	n := b.rng.IntN(most + 1)
	if n == 0 {
		return nil
	}
	c := make(chan *hItem, n+1)
	t := b.thing(wordOf(&c))
	for range n {
		i := pickOf(b.rng, b.items)
		c <- i
		t.tie(hElement, unsafe.Pointer(i))
	}
	return c
}

func (b *hBuilder) rows(most int) []hRow {
	n := b.rng.IntN(most + 1)
	if n == 0 {
		return nil
	}
	rows := make([]hRow, n)
	array := b.thing(unsafe.Pointer(unsafe.SliceData(rows)))
	for i := range rows {
		rows[i] = hRow{maybe(b, b.data, 2), maybe(b, b.configs, 3)}
		array.tie(hInRow, unsafe.Pointer(rows[i].data))
		array.tie(hInRow, unsafe.Pointer(rows[i].config))
	}
	return rows
}

// value returns an interface's value, and the tie to where it leads from a reference of some sort.
func (b *hBuilder) value(sort hTie) (any, hTie, unsafe.Pointer) {
	d, c := pickOf(b.rng, b.data), pickOf(b.rng, b.configs)
	switch b.rng.IntN(5) {
	case 0:
		return d, sort, unsafe.Pointer(d)
	case 1:
		return c, sort, unsafe.Pointer(c)
	case 2: // the pointer is a field's
		sort.crosses = true
		return hDirect{d}, sort, unsafe.Pointer(d)
	case 3: // to a copy of the struct
		var v any = hRow{d, c}
		box := (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
		b.thing(box).tie(hCrosses, unsafe.Pointer(d))
		b.thing(box).tie(hCrosses, unsafe.Pointer(c))
		return v, sort, box
	}
	return nil, sort, nil
}

func hMake[T any](v *T) func() *T { return func() *T { return v } }

func (b *hBuilder) fillService(s *hService) {
	*s = hService{b.list(3), b.mapOf(12), b.channel(2), maybe(b, b.configs, 2), maybe(b, b.items, 3), b.rows(2)}
	t := b.thing(unsafe.Pointer(s))
	t.tie(hJoins, unsafe.Pointer(unsafe.SliceData(s.items)))
	t.tie(hJoins, wordOf(&s.index))
	t.tie(hJoins, wordOf(&s.queue))
	t.tie(hCrosses, unsafe.Pointer(s.config))
	t.tie(hCrosses, unsafe.Pointer(s.newest))
	t.tie(hJoins, unsafe.Pointer(unsafe.SliceData(s.rows)))
}

func (b *hBuilder) fillItem(i *hItem) {
	t := b.thing(unsafe.Pointer(i))
	i.next, i.service, i.config, i.data = maybe(b, b.items, 4), maybe(b, b.services, 3), maybe(b, b.configs, 4), maybe(b, b.data, 3)
	t.tie(hNext, unsafe.Pointer(i.next))
	t.tie(hCrosses, unsafe.Pointer(i.service))
	t.tie(hCrosses, unsafe.Pointer(i.config))
	t.tie(hCrosses, unsafe.Pointer(i.data))
	v, sort, at := b.value(hCrosses)
	i.value = v
	t.tie(sort, at)
	if d := maybe(b, b.data, 4); d != nil {
		i.make = hMake(d)
		t.tie(hCrosses, wordOf(&i.make))
		b.thing(wordOf(&i.make)).tie(hCrosses, unsafe.Pointer(d))
	}
	for k := range i.parts {
		i.parts[k] = maybe(b, b.data, 5)
		t.tie(hElement, unsafe.Pointer(i.parts[k]))
	}
	if b.rng.IntN(3) == 0 {
		i.kids = b.list(3)
		t.tie(hJoins, unsafe.Pointer(unsafe.SliceData(i.kids)))
	}
}

func (b *hBuilder) fillConfig(c *hConfig) {
	t := b.thing(unsafe.Pointer(c))
	c.data, c.in = maybe(b, b.data, 2), hRow{maybe(b, b.data, 3), maybe(b, b.configs, 4)}
	t.tie(hCrosses, unsafe.Pointer(c.data))
	t.tie(hCrosses, unsafe.Pointer(c.in.data))
	t.tie(hNext, unsafe.Pointer(c.in.config))
	if b.rng.IntN(3) != 0 {
		return
	}
	c.values = make(map[int]any)
	t.tie(hJoins, wordOf(&c.values))
	for k := range 1 + b.rng.IntN(10) {
		v, sort, at := b.value(hElement)
		c.values[k] = v
		b.thing(wordOf(&c.values)).tie(sort, at)
	}
}

func (b *hBuilder) fillData(d *hData) {
	t := b.thing(unsafe.Pointer(d))
	d.back, d.service = maybe(b, b.items, 5), maybe(b, b.services, 6)
	t.tie(hCrosses, unsafe.Pointer(d.back))
	t.tie(hCrosses, unsafe.Pointer(d.service))
}
