package caches

import (
	"testing"

	"example.com/corpus/internal/judge"
)

// prepared is the number of objects, or of entries with room, at the start: more than the operation
// is ever called.
const prepared = 1 << 14

// A page and an entry of the journal are of one size class.
type (
	page  struct{ next, last [3]*page }
	entry struct{ of, by [3]*entry }
)

// masked has what grows while something else shrinks, or into room that was made before. The totals
// of the heap stay the same.
var masked struct {
	warm     []*page
	journal  []*entry
	byNumber map[int]int
	number   int
	idle     *page // a list
	busy     *page
	nBusy    int
}

func resetMasked() {
	masked.warm, masked.journal, masked.byNumber, masked.idle, masked.busy, masked.nBusy = nil, nil, nil, nil, nil, 0
}

// coolingDown adds an entry to a journal, and drops one of the prepared pages, with each call.
func coolingDown(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		masked.journal = make([]*entry, 0, prepared)
		for range prepared {
			masked.warm = append(masked.warm, &page{})
		}
		t.Cleanup(resetMasked)
		return func() {
			if n := len(masked.warm); n > 0 {
				masked.warm[n-1] = nil
				masked.warm = masked.warm[:n-1]
			}
			masked.journal = append(masked.journal, &entry{})
			if fixed {
				masked.journal[0] = nil
				masked.journal = masked.journal[:0]
			}
		}
	}
}

// numbered adds keys to a map that has room for all of them from the start.
func numbered(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		masked.byNumber = make(map[int]int, prepared)
		t.Cleanup(resetMasked)
		return func() {
			masked.number++
			masked.byNumber[masked.number] = masked.number
			if fixed {
				delete(masked.byNumber, masked.number)
			}
		}
	}
}

// borrowed takes pages from a list of idle pages and forgets to put them back.
func borrowed(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		for range prepared {
			p := &page{}
			p.next[0], masked.idle = masked.idle, p
		}
		t.Cleanup(resetMasked)
		return func() {
			p := masked.idle
			if p == nil {
				return
			}
			masked.idle, p.next[0], masked.busy = p.next[0], masked.busy, p
			masked.nBusy++
			if fixed {
				masked.busy, p.next[0], masked.idle = p.next[0], masked.idle, p
				masked.nBusy--
			}
		}
	}
}
