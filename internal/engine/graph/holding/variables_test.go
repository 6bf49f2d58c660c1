package holding_test

import (
	"math/rand/v2"
	"runtime"
	"sort"
	"unsafe"
)

// The package variables of random graphs.
var (
	hPointer *hService
	hList    *hItem
	hSlice   []*hItem
	hMap     map[int]*hItem
	hChan    chan *hItem
	hStruct  struct {
		service *hService
		config  *hConfig
		items   []*hItem
		row     hRow
	}
	hArray [3]*hItem
	hAny   any
	hFunc  func() *hItem
	hRows  []hRow
)

// A hVariable is a variable with its references.
type hVariable struct {
	hThing
	name string
	kind hKind
}

type hKind int

const (
	hPackage hKind = iota
	hFrame         // of a goroutine that is no test's
	hTest
)

// hKept is what variables of frames are to hold.
type hKept struct {
	service *hService
	item    *hItem
	list    []*hItem
	data    *hData
	waiting *hItem
	config  *hConfig
	frame   *hOrder
}

// variable describes a variable, with references of one sort.
func (b *hBuilder) variable(name string, kind hKind, sort hTie, to ...unsafe.Pointer) *hVariable {
	v := &hVariable{name: name, kind: kind}
	for _, p := range to {
		v.tie(sort, p)
	}
	b.variables = append(b.variables, v)
	return v
}

// path notes what the node of a path begins with.
func (b *hBuilder) path(name string, to ...*hItem) {
	for _, p := range to {
		if p != nil {
			b.paths[name] = append(b.paths[name], uintptr(unsafe.Pointer(p)))
		}
	}
}

// buildGraph makes a graph, and fills the package variables.
//
//go:noinline
func buildGraph(rng *rand.Rand, n int) (*hGraph, hKept) {
	b := &hBuilder{hGraph: hGraph{things: make(map[uintptr]*hThing), paths: make(map[string][]uintptr)}, rng: rng}
	for range n {
		b.items, b.data = append(b.items, new(hItem)), append(b.data, new(hData))
	}
	for range n/4 + 1 {
		b.services, b.configs = append(b.services, new(hService)), append(b.configs, new(hConfig))
	}
	for _, v := range b.services {
		b.fillService(v)
	}
	for _, v := range b.items {
		b.fillItem(v)
	}
	for _, v := range b.configs {
		b.fillConfig(v)
	}
	for _, v := range b.data {
		b.fillData(v)
	}
	b.fillVariables()
	kept := hKept{maybe(b, b.services, 2), maybe(b, b.items, 2), b.list(2), maybe(b, b.data, 2), maybe(b, b.items, 2), maybe(b, b.configs, 2), &hOrder{}}
	for len(kept.frame.items) < 2 { // nothing is compared if there are fewer
		kept.frame.items = b.list(3)
	}
	b.thing(unsafe.Pointer(kept.frame)).tie(hJoins, unsafe.Pointer(unsafe.SliceData(kept.frame.items)))
	b.variable("test", hTest, hJoins, unsafe.Pointer(kept.service), unsafe.Pointer(kept.item), unsafe.Pointer(unsafe.SliceData(kept.list)), unsafe.Pointer(kept.data))
	b.variable("waiting", hTest, hJoins, unsafe.Pointer(kept.waiting), unsafe.Pointer(kept.config))
	b.variable("frame", hFrame, hJoins, unsafe.Pointer(kept.frame))
	return &hGraph{b.things, b.variables, b.paths}, kept // a part of b would keep b, which has everything
}

func (b *hBuilder) fillVariables() {
	hPointer, hList, hSlice = maybe(b, b.services, 2), maybe(b, b.items, 2), b.list(3)
	b.variable("hPointer", hPackage, hJoins, unsafe.Pointer(hPointer))
	b.variable("hList", hPackage, hJoins, unsafe.Pointer(hList))
	b.variable("hSlice", hPackage, hJoins, unsafe.Pointer(unsafe.SliceData(hSlice)))
	b.path("hSlice[*]", hSlice...)
	if s := hPointer; s != nil {
		b.path("hPointer.items[*]", s.items...)
		b.path("hPointer.newest", s.newest)
		for _, i := range s.index {
			b.path("hPointer.index[*]", i)
		}
	}
	hMap, hChan = b.mapOf(10), b.channel(3)
	b.variable("hMap", hPackage, hJoins, wordOf(&hMap))
	for _, i := range hMap {
		b.path("hMap[*]", i)
	}
	b.variable("hChan", hPackage, hJoins, wordOf(&hChan))
	if hChan != nil {
		for _, t := range b.things[uintptr(wordOf(&hChan))].ties {
			b.paths["hChan[*]"] = append(b.paths["hChan[*]"], t.to)
		}
	}
	hStruct.service, hStruct.config, hStruct.items = maybe(b, b.services, 2), maybe(b, b.configs, 2), b.list(2)
	hStruct.row = hRow{maybe(b, b.data, 2), maybe(b, b.configs, 2)}
	v := b.variable("hStruct", hPackage, hCrosses, unsafe.Pointer(hStruct.service), unsafe.Pointer(hStruct.config), unsafe.Pointer(hStruct.row.data), unsafe.Pointer(hStruct.row.config))
	v.tie(hJoins, unsafe.Pointer(unsafe.SliceData(hStruct.items)))
	b.path("hStruct.items[*]", hStruct.items...)
	if s := hStruct.service; s != nil {
		b.path("hStruct.service.items[*]", s.items...)
	}
	hArray = [3]*hItem{maybe(b, b.items, 2), nil, maybe(b, b.items, 2)}
	b.variable("hArray", hPackage, hElement, unsafe.Pointer(hArray[0]), unsafe.Pointer(hArray[2]))
	b.path("hArray[*]", hArray[:]...)
	value, sort, at := b.value(hJoins)
	hAny = value
	b.variable("hAny", hPackage, sort, at)
	hFunc = nil
	if i := maybe(b, b.items, 2); i != nil {
		hFunc = hMake(i)
		b.thing(wordOf(&hFunc)).tie(hCrosses, unsafe.Pointer(i))
	}
	b.variable("hFunc", hPackage, hJoins, wordOf(&hFunc))
	hRows = b.rows(2)
	b.variable("hRows", hPackage, hJoins, unsafe.Pointer(unsafe.SliceData(hRows)))
}

func clearVariables() {
	hPointer, hList, hSlice, hMap, hChan, hArray, hAny, hFunc, hRows = nil, nil, nil, nil, nil, [3]*hItem{}, nil, nil, nil
	hStruct.service, hStruct.config, hStruct.items, hStruct.row = nil, nil, nil, hRow{}
}

// during calls a function while variables of tests and of another goroutine hold what they are to
// hold.
func (k hKept) during(call func()) {
	release, ready, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go hWaits(k.waiting, k.config, ready, release, done)
	k.frame.ready, k.frame.release = ready, release
	go hSorts(k.frame, done)
	<-ready
	<-ready
	hHas(k.service, k.item, k.list, k.data, call)
	close(release)
	<-done
	<-done
}

// hHas has variables of its own: fields of a struct would be another thing's.
//
//go:noinline
func hHas(service *hService, item *hItem, list []*hItem, data *hData, call func()) {
	call()
	runtime.KeepAlive(service)
	runtime.KeepAlive(item)
	runtime.KeepAlive(list)
	runtime.KeepAlive(data)
}

func hWaits(item *hItem, config *hConfig, ready, release, done chan struct{}) {
	ready <- struct{}{}
	<-release
	runtime.KeepAlive(item)
	runtime.KeepAlive(config)
	done <- struct{}{}
}

// A hOrder is a list that package sort, which is no test's, has in its variables while Less waits.
// The functions of package slices would not do: they do not know the type of what they sort.
type hOrder struct {
	items          []*hItem
	waited         bool
	ready, release chan struct{}
}

func (o *hOrder) Len() int { return len(o.items) }

func (o *hOrder) Swap(i, j int) { o.items[i], o.items[j] = o.items[j], o.items[i] }

func (o *hOrder) Less(_, _ int) bool {
	if ready, release := o.ready, o.release; !o.waited {
		o.waited = true
		ready <- struct{}{}
		<-release
	}
	return false
}

func hSorts(o *hOrder, done chan struct{}) {
	sort.Sort(o)
	done <- struct{}{}
}
