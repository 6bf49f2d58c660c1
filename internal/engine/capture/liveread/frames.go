package liveread

import (
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// frames records the words of stacks that may be the lengths of slices. In a frame, the compiler
// puts a slice's pointer, length and capacity where it likes.
type frames struct {
	stacks []frameStack
	words  []frameWord
}

// A frameStack is the stack of a goroutine, with its words up to an index.
type frameStack struct {
	goroutine uint64
	k         int // index of the goroutine's record
	end       int
}

// A frameWord has the distance of a word from the stack's upper end, since stacks move, and its
// value.
type frameWord struct{ off, was uint32 }

const (
	maxStack  = 1 << 20 // bytes in use of all stacks together; if they have more, frames are not watched
	maxLength = 1 << 32 // elements
)

// stack returns the part in use of the stack of the goroutine whose record has index k; ok is
// false if that goroutine runs, or is another one.
func (l *Layout) stack(k int, id uint64) (sp, hi uintptr, ok bool) {
	g := offheap.Word(offheap.Word(l.at.AllGs) + uintptr(8*k))
	sp, hi = offheap.Word(g+l.g.SP), offheap.Word(g+l.g.StackHi)
	state := offheap.Half(g+l.g.Status) &^ rtlayout.Scanning
	ok = uint64(offheap.Word(g+l.g.ID)) == id && (state == rtlayout.Waiting || state == rtlayout.Runnable) && sp%8 == 0 && hi-sp < maxStack
	return sp, hi, ok
}

// depth returns the bytes in use of the stack of the goroutine whose record has index k; 0 if it
// runs.
func (l *Layout) depth(k int) uint64 {
	g := offheap.Word(offheap.Word(l.at.AllGs) + uintptr(8*k))
	switch offheap.Half(g+l.g.Status) &^ rtlayout.Scanning {
	case rtlayout.Waiting, rtlayout.Runnable:
		return uint64(offheap.Word(g+l.g.StackHi) - offheap.Word(g+l.g.SP))
	}
	return 0
}

// frameWords records the words of all stacks that may be lengths, none if stacks are too large.
//
//go:norace
func (l *Layout) frameWords() (f frames) {
	size, n := uintptr(0), 0
	l.eachStack(func(_ int, _ uint64, sp, hi uintptr) {
		size += hi - sp
		n++
	})
	if size >= maxStack {
		return frames{}
	}
	f = frames{stacks: make([]frameStack, 0, n), words: make([]frameWord, 0, size/8)}
	l.eachStack(func(k int, id uint64, sp, hi uintptr) {
		for at := sp; at < hi && len(f.words) < cap(f.words); at += 8 {
			if v := offheap.Word(at); v < maxLength {
				f.words = append(f.words, frameWord{uint32(hi - at), uint32(v)})
			}
		}
		f.stacks = append(f.stacks, frameStack{id, k, len(f.words)})
	})
	return f
}

// eachStack visits the parts in use of the stacks of goroutines that do not run.
//
//go:norace
func (l *Layout) eachStack(visit func(k int, id uint64, sp, hi uintptr)) {
	l.eachGoroutine(func(k int, id uint64) {
		if sp, hi, ok := l.stack(k, id); ok {
			visit(k, id, sp, hi)
		}
	})
}

// frameGrew reports whether so many calls have made a word in a frame greater by the same number
// each, and the word may be the length of a slice: the same stack leads to an object that is as
// large. A counter looks the same.
//
//go:norace
func (l *Layout) frameGrew(f frames, calls int) bool {
	first := 0
	for _, s := range f.stacks {
		words := f.words[first:s.end]
		first = s.end
		sp, hi, ok := l.stack(s.k, s.goroutine)
		if !ok {
			continue
		}
		for _, w := range words {
			if uintptr(w.off) > hi-sp {
				continue
			}
			was, now := uintptr(w.was), offheap.Word(hi-uintptr(w.off))
			if now > was && now < maxLength && (now-was)%uintptr(calls) == 0 && l.leadsTo(sp, hi, now) {
				return true
			}
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
				p := offheap.Word(at)
				leads = p >= s.base && p < s.end()
			}
		})
	})
	return leads || err != nil
}
