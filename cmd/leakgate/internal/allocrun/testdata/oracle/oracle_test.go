// Package oracle allocates the same each time, in as many ways as there are: what it allocates is
// counted by leakgate and by a runtime that records the types itself.
package oracle

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type (
	Small                      struct{ n int32 }
	Node                       struct{ left, right *Node }
	Large                      struct{ body [3000]byte }
	LargePtr                   struct{ body [100]*int }
	ID                         uint64
	Name                       string
	Pair                       [2]int
	Entry[K comparable, V any] struct {
		key   K
		value V
		next  *Entry[K, V]
	}
)

var (
	sink    any
	pointer *Node
	small   *Small
	number  *int64
	bytes   []byte
	text    string
	nodes   []Node
	channel chan *Node
	numbers chan int
	table   map[string]*Node
	entries []*Entry[ID, string]
	ints    []int
	fn      func() int
)

//go:noinline
func newEntry[K comparable, V any](k K, v V) *Entry[K, V] { return &Entry[K, V]{key: k, value: v} }

func ops(n int) {
	for i := range n {
		pointer = &Node{}
		small = &Small{1}
		number = new(int64)
		sink = &Large{}
		sink = &LargePtr{}
		bytes = make([]byte, 100+i%3)
		bytes = append(bytes, bytes...)
		text = string(bytes[:40])
		text = "<" + text + strconv.Itoa(1000+i%7) + ">"
		nodes = make([]Node, 3)
		nodes = append(nodes, nodes...)
		nodes = append([]Node(nil), Node{})
		channel = make(chan *Node, 4)
		numbers = make(chan int, 4)
		table = map[string]*Node{}
		for j := range 20 {
			table[names[j]] = pointer
		}
		sink = ID(1000 + i)
		sink = Name(text)
		sink = Pair{i, i}
		sink = []int{i}
		entries = append(entries[:0:0], newEntry(ID(i), "x"), newEntry(ID(i), "y"))
		ints = slices.Clone([]int{1, 2, i})
		captured := i
		fn = func() int { captured++; return captured }
		sink = reflect.New(reflect.TypeFor[Node]()).Interface()
		sink = errors.New("no")
		sink = strings.Repeat("ab", 20)
		sink = []rune(text)
		var v struct{ A []int }
		if err := json.Unmarshal([]byte(`{"A":[1,2,3]}`), &v); err != nil {
			panic(err)
		}
		sink = func(list ...any) int { return len(list) }
		done := make(chan struct{})
		go func() { pointer = &Node{}; close(done) }()
		<-done
	}
}

var names = func() (list []string) {
	for i := range 20 {
		list = append(list, strconv.Itoa(1<<i))
	}
	return list
}()

func TestOps(t *testing.T) {
	ops(10) // caches
	n, err := strconv.Atoi(os.Getenv("ORACLE_OPS"))
	if err != nil {
		t.Fatal(err)
	}
	ops(n)
}
