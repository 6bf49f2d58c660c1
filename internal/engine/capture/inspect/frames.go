package inspect

import (
	"github.com/leakgate/leakgate/internal/engine/memory/rawmem"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// A frameWord records a word of a stack that may be the length of a slice, by its distance from
// the stack's upper end, since stacks move. In a frame, the compiler puts a slice's pointer,
// length and capacity where it likes.
type frameWord struct {
	goroutine uint64
	k         int // index of the goroutine's record
	off, was  uintptr
}

const (
	maxStack  = 1 << 20 // bytes in use of all stacks together; if they have more, frames are not watched
	maxLength = 1 << 32 // elements
)

// stack returns the part in use of the stack of the goroutine whose record has index k; ok is
// false if that goroutine runs, or is another one.
func (l *Layout) stack(k int, id uint64) (sp, hi uintptr, ok bool) {
	g := rawmem.Word(rawmem.Word(l.at.AllGs) + uintptr(8*k))
	sp, hi = rawmem.Word(g+l.g.SP), rawmem.Word(g+l.g.StackHi)
	state := rawmem.Half(g+l.g.Status) &^ rtlayout.Scanning
	ok = uint64(rawmem.Word(g+l.g.ID)) == id && (state == rtlayout.Waiting || state == rtlayout.Runnable) && sp%8 == 0 && hi-sp < maxStack
	return sp, hi, ok
}

// depth returns the bytes in use of the stack of the goroutine whose record has index k; 0 if it
// runs.
func (l *Layout) depth(k int) uint64 {
	g := rawmem.Word(rawmem.Word(l.at.AllGs) + uintptr(8*k))
	switch rawmem.Half(g+l.g.Status) &^ rtlayout.Scanning {
	case rtlayout.Waiting, rtlayout.Runnable:
		return uint64(rawmem.Word(g+l.g.StackHi) - rawmem.Word(g+l.g.SP))
	}
	return 0
}

// frameWords records the words of all stacks that may be lengths, nil if stacks are too large.
//
//go:norace
func (l *Layout) frameWords() (words []frameWord) {
	size := uintptr(0)
	l.eachGoroutine(func(k int, id uint64) {
		sp, hi, ok := l.stack(k, id)
		if !ok {
			return
		}
		size += hi - sp
		for at := sp; at < hi && size < maxStack; at += 8 {
			if v := rawmem.Word(at); v < maxLength {
				words = append(words, frameWord{id, k, hi - at, v})
			}
		}
	})
	if size >= maxStack {
		return nil
	}
	return words
}

// frameGrew reports whether so many calls have made a word in a frame greater by the same number
// each, and the word may be the length of a slice: the same stack leads to an object that is as
// large. A counter looks the same.
//
//go:norace
func (l *Layout) frameGrew(words []frameWord, calls int) bool {
	for _, w := range words {
		sp, hi, ok := l.stack(w.k, w.goroutine)
		if !ok || w.off > hi-sp {
			continue
		}
		now := rawmem.Word(hi - w.off)
		if now > w.was && now < maxLength && (now-w.was)%uintptr(calls) == 0 && l.leadsTo(sp, hi, now) {
			return true
		}
	}
	return false
}

// leadsTo reports whether a word of memory leads to an object of at least so many bytes. It
// returns true if it cannot tell.
//
//go:norace
func (l *Layout) leadsTo(from, to, size uintptr) (leads bool) {
	err := tryAgain(func() error {
		return l.spans(false, func(_ int, s *span) {
			for at := from; at < to && s.size >= size && !leads; at += 8 {
				p := rawmem.Word(at)
				leads = p >= s.base && p < s.end()
			}
		})
	})
	return leads || err != nil
}
