//go:build amd64 || arm64

package refscan_test

import (
	"fmt"
	"slices"
	"strconv"
)

// A heapShape fills the heap with about n objects that the variables below keep.
type heapShape struct {
	name string
	fill func(n int)
}

// heapShapes are heaps that each stress one property, and a mixture of them.
var heapShapes = []heapShape{
	{"mix", fillMix},
	{"tree", fillTree},
	{"lists", fillLists},
	{"chain", fillChain},
	{"fanout", fillFanOut},
	{"maps", fillMaps},
	{"strings", fillStrings},
	{"interfaces", fillInterfaces},
	{"noscan", fillNoScan},
	{"goroutines", fillGoroutines},
}

func shapeNamed(name string) (heapShape, error) {
	i := slices.IndexFunc(heapShapes, func(s heapShape) bool { return s.name == name })
	if i < 0 {
		return heapShape{}, fmt.Errorf("there is no heap shape %q", name)
	}
	return heapShapes[i], nil
}

type treeNode struct {
	left, right *treeNode
	key         uint64
	_           [4]uint64
}

var benchTree *treeNode

// fillTree makes a balanced binary tree.
func fillTree(n int) { benchTree = newTree(n) }

func newTree(n int) *treeNode {
	if n == 0 {
		return nil
	}
	n--
	return &treeNode{left: newTree(n / 2), right: newTree(n - n/2), key: uint64(n)}
}

type listNode struct {
	next *listNode
	id   int
}

var (
	benchLists []*listNode
	benchChain *listNode
)

// fillLists makes a thousand lists, whose nodes are interleaved in memory.
func fillLists(n int) {
	benchLists = make([]*listNode, 1000)
	for i := range n {
		at := &benchLists[i%len(benchLists)]
		*at = &listNode{next: *at, id: i}
	}
}

// fillChain makes one list: its depth is the number of objects.
func fillChain(n int) {
	for i := range n {
		benchChain = &listNode{next: benchChain, id: i}
	}
}

type leaf struct {
	name *string
	_    [3]int
}

var benchFanOut []*leaf

// fillFanOut makes one slice that refers to everything.
func fillFanOut(n int) {
	name := "shared by all"
	benchFanOut = make([]*leaf, n)
	for i := range benchFanOut {
		benchFanOut[i] = &leaf{name: &name}
	}
}

type entity struct {
	id   int
	name string
	tags []string
	next *entity
}

var (
	benchEntities map[int]*entity
	benchNames    map[string]string
)

// fillMaps makes two big maps, of pointers and of strings: a third of the objects are elements of
// the first, two thirds keys and values of the second. The tables come on top.
func fillMaps(n int) {
	benchEntities = make(map[int]*entity)
	benchNames = make(map[string]string)
	for i := range n / 3 {
		benchEntities[i] = &entity{id: i}
		benchNames["key "+strconv.Itoa(i)] = "the value of " + strconv.Itoa(i)
	}
}

var benchStrings [][]string

// fillStrings makes strings of some 20 bytes in slices of a hundred.
func fillStrings(n int) {
	const each = 100
	for i := 0; i < n; i += each {
		row := make([]string, each)
		for k := range row {
			row[k] = "string number " + strconv.Itoa(i+k)
		}
		benchStrings = append(benchStrings, row)
	}
}

type (
	circle struct {
		_     float64
		style any
	}
	rect struct {
		_      [2]float64
		inside shape
	}
	group  []shape
	colour uint64
)

func (*circle) area() float64 { return 0 }
func (rect) area() float64    { return 0 }
func (group) area() float64   { return 0 }

// shape is implemented by a pointer, by a struct and by a slice.
type shape interface{ area() float64 }

var benchShapes []shape

// fillInterfaces makes values whose types only interface words give.
func fillInterfaces(n int) {
	for range n / 7 {
		c := &circle{style: colour(1 << 40)}
		b := rect{inside: c}
		benchShapes = append(benchShapes, group{b, rect{inside: group{}}})
	}
}

var benchBytes [][]byte

// fillNoScan makes a gigabyte without pointers, or more if there are more objects: half of it in
// one piece. All of it is written to, so that it takes memory.
func fillNoScan(n int) {
	half := max(1<<29, n*512)
	touched := func(size int) []byte {
		b := make([]byte, size)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		return b
	}
	benchBytes = append(benchBytes, touched(half))
	for range n {
		benchBytes = append(benchBytes, touched(half/n))
	}
}

var benchGate = make(chan *entity)

// fillGoroutines makes a goroutine for each ten objects, 100,000 for a million: some objects are
// held by its stack directly, some indirectly.
func fillGoroutines(n int) {
	for i := range n / 10 {
		go goroutineShape(i)
	}
}

func goroutineShape(i int) {
	own := &entity{id: i, name: "goroutine " + strconv.Itoa(i)}
	for range 3 {
		own = &entity{next: own, tags: []string{"waits"}}
	}
	got := <-benchGate
	fmt.Println(own, got)
}

var (
	benchMixTree    *mixNode
	benchMixList    *entity
	benchMixRecords map[int]*entity
	benchMixNames   map[string]string
)

type mixNode struct {
	left, right *mixNode
	name        string
	value       any
}

// fillMix makes some of everything: a tree, two maps, a list, strings, slices and interfaces.
func fillMix(n int) {
	n /= 8
	benchMixTree = newMixTree(2 * n)
	benchMixRecords = make(map[int]*entity)
	benchMixNames = make(map[string]string)
	for i := range n {
		benchMixRecords[i] = &entity{id: i, tags: []string{strconv.Itoa(1000 + i)}}
		benchMixNames["key "+strconv.Itoa(i)] = "the value of " + strconv.Itoa(i)
		benchMixList = &entity{id: i, next: benchMixList}
	}
}

func newMixTree(n int) *mixNode {
	if n == 0 {
		return nil
	}
	n--
	node := &mixNode{left: newMixTree(n / 2), right: newMixTree(n - n/2)}
	if n%2 == 0 {
		node.name = "node " + strconv.Itoa(n)
	} else {
		node.value = &entity{id: n}
	}
	return node
}
