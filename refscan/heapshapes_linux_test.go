//go:build amd64 || arm64

package refscan_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

type sweepSession struct {
	name string
	buf  []byte
	next *sweepSession
	tags []*string
}

type sweepNode struct {
	next, other *sweepNode
	id          int
	_           *int
}

var (
	sweepSessions map[int]*sweepSession
	sweepNodes    *sweepNode
	sweepKept     any
)

type sweepPointer struct{ p *sweepPointer }

// sweepHeaps fill the heap with about that many bytes.
var sweepHeaps = map[string]func(bytes int){
	// Most of it has no pointers, as in most programs.
	"sessions": func(bytes int) {
		const size = 80 + 32 + 256 + 4*8 + 2*16
		sweepSessions = make(map[int]*sweepSession)
		for i := range bytes / size {
			s := &sweepSession{name: fmt.Sprintf("session %08d of the sweep", i), buf: make([]byte, 256), next: sweepSessions[i-1]}
			for range 4 {
				s.tags = append(s.tags, &s.name)
			}
			sweepSessions[i] = s
		}
	},
	// The worst case: small objects, all pointers.
	"nodes": func(bytes int) {
		for i := range bytes / 32 {
			sweepNodes = &sweepNode{next: sweepNodes, other: sweepNodes, id: i}
		}
	},
	// Nodes that refer to any others, so that each step leads elsewhere in memory.
	"tangle": func(bytes int) {
		all := make([]*sweepNode, bytes/40)
		for i := range all {
			all[i] = &sweepNode{id: i}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for _, n := range all {
			n.next, n.other = all[random.IntN(len(all))], all[random.IntN(len(all))]
		}
		sweepKept = all
	},
	// One object that refers to all others.
	"wide": func(bytes int) {
		all := make([]*sweepPointer, bytes/16)
		for i := range all {
			all[i] = &sweepPointer{}
			if i > 0 {
				all[i].p = all[i-1]
			}
		}
		sweepKept = all
	},
	// Pointers at the start of large objects that have no others.
	"buffers": func(bytes int) {
		type page struct {
			next *page
			_    [4000]byte
		}
		var list *page
		for range bytes / 4096 {
			list = &page{next: list}
		}
		sweepKept = list
	},
	"maps": func(bytes int) {
		all := make(map[string]map[int]any)
		for i := range bytes / 1000 {
			all[strconv.Itoa(i)] = map[int]any{1: i, 2: "text", 3: &sweepNode{id: i}, 4: []any{i, all}, 5: func() int { return i }}
		}
		sweepKept = all
	},
	"tiny": func(bytes int) {
		all := make([]*int16, bytes/10)
		for i := range all {
			all[i] = new(int16)
		}
		sweepKept = all
	},
	// Most of each span is free.
	"sparse": func(bytes int) {
		var list *sweepNode
		for i := range bytes / 32 {
			n := &sweepNode{id: i}
			if i%200 == 0 {
				n.next, list = list, n
			}
		}
		sweepKept = list
	},
}

// heapOf returns a function that fills the heap as an environment variable says: the name of a
// heap, and megabytes. It returns nil if the variable is not set.
func heapOf(t *testing.T, variable string) (fill func()) {
	t.Helper()
	heap, size, _ := strings.Cut(os.Getenv(variable), " ")
	if sweepHeaps[heap] == nil {
		return nil
	}
	megabytes, err := strconv.Atoi(size)
	require.NoError(t, err)
	return func() { sweepHeaps[heap](megabytes << 20) }
}
