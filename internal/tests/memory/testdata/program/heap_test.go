package memory

import (
	"runtime"
	"strconv"
	"sync"
)

// A node is a small object that refers to two others: with its name 48 bytes.
type node struct {
	left, right *node
	n           int
	name        string
}

type entry struct {
	name string
	tags []*string
	of   map[string]int
}

var (
	list    *node
	tree    *node
	entries map[int]*entry
	texts   []string
	mutex   sync.Mutex
	gate    = make(chan *node)
	dropped any   // what a healthy operation leaves: replaced by the next call
	kept    []any // what a leaking operation leaves
	held    *node // what is held though it should be garbage
)

// A shape fills the heap with about that many bytes, and names the variable that has it, and a path
// that leads to its parts.
type shape struct {
	fill       func(bytes int)
	root, path string
}

// shapes are the kinds of heaps. Their costs lie far apart: small objects with pointers, maps with small tables, memory without pointers, stacks.
var shapes = map[string]shape{
	"list": {root: "memory.list", path: "memory.list.left", fill: func(bytes int) {
		for i := range bytes / 48 {
			list = &node{left: list, n: i}
		}
	}},
	"tree": {root: "memory.tree", path: "memory.tree.left", fill: func(bytes int) {
		next := 0
		tree = grow(bytes/48, &next)
	}},
	"maps": {root: "memory.entries", path: "memory.entries[*].of", fill: func(bytes int) {
		const size = 400
		entries = make(map[int]*entry)
		for i := range bytes / size {
			e := &entry{name: "entry " + strconv.Itoa(i), of: map[string]int{"a": i}}
			e.tags = []*string{&e.name, &e.name}
			entries[i] = e
		}
	}},
	"texts": {root: "memory.texts", path: "memory.texts[*]", fill: func(bytes int) {
		texts = make([]string, bytes/64)
		for i := range texts {
			texts[i] = "a text of some length, of which there are many: " + strconv.Itoa(i)[:1]
		}
	}},
	"goroutines": {root: "memory.gate", path: "memory.gate", fill: func(bytes int) {
		for i := range bytes / 2600 {
			go wait(&node{n: i})
		}
		runtime.Gosched()
	}},
}

// grow makes a tree of n nodes.
func grow(n int, next *int) *node {
	if n == 0 {
		return nil
	}
	*next++
	return &node{n: *next, left: grow((n-1)/2, next), right: grow(n-1-(n-1)/2, next)}
}

// wait blocks for as long as the program runs.
func wait(n *node) {
	<-gate
	runtime.KeepAlive(n)
}
