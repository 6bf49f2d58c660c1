package shop

import (
	"container/heap"
	"container/list"
	"container/ring"
	"sync"
)

// A Priority is a heap of sessions.
type Priority []*Session

func (p Priority) Len() int           { return len(p) }
func (p Priority) Less(i, j int) bool { return p[i].ID < p[j].ID }
func (p Priority) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

// Push is for package heap.
func (p *Priority) Push(s any) { *p = append(*p, s.(*Session)) }

// Pop is for package heap.
func (p *Priority) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

var _ heap.Interface = (*Priority)(nil)

var (
	Live   *sync.Map
	Recent *list.List
	Round  *ring.Ring
	Due    Priority
)

func resetContainers() { Live, Recent, Round, Due = &sync.Map{}, list.New(), nil, nil }
