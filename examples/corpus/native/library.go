//go:build cgo && linux

package native

/*
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *volatile last; // keeps the compiler from leaving out an allocation that nobody uses

static void forget(size_t n) { last = malloc(n); }

// A statement of a database: what it is compiled to, its text, its parameters.
typedef struct { char *text; void *program, *parameters; } statement;
static void *prepare(const char *text) {
	statement *s = malloc(sizeof *s);
	s->text = strdup(text);
	s->program = malloc(1000);
	s->parameters = calloc(4, 24);
	return s;
}
static void finalize(void *p) {
	statement *s = p;
	free(s->text); free(s->program); free(s->parameters); free(s);
}

// A list that a library keeps in a variable of its own.
typedef struct node { struct node *next; char name[100]; } node;
static node *nodes;
static void registerName(void) { node *n = calloc(1, sizeof *n); n->next = nodes; nodes = n; }
static void unregisterAll(void) { while (nodes) { node *n = nodes; nodes = n->next; free(n); } }

// An array that grows.
static char *array; static size_t length, room;
static void push(void) {
	if (length + 4096 > room) array = realloc(array, room += 4096);
	memset(array + length, 1, 4096); length += 4096;
}
static void clearArray(void) { free(array); array = NULL; length = room = 0; }

// A thread of C that leaves a block.
static void *leave(void *n) { if (n) last = malloc((size_t)n); return NULL; }
static void thread(size_t n) { pthread_t t; if (pthread_create(&t, NULL, leave, (void *)n) == 0) pthread_join(t, NULL); }

static size_t inUse(void) { struct mallinfo2 m = mallinfo2(); return m.uordblks + m.hblkhd; }
*/
import "C"

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"example.com/corpus/internal/judge"
)

// inUse is what malloc itself says that it has given out.
func inUse() int { return int(C.inUse()) }

var made, ring []unsafe.Pointer

func free(p unsafe.Pointer) { C.free(p) }

func reset(t *testing.T) {
	t.Cleanup(func() {
		for _, p := range append(made, ring...) {
			free(p)
		}
		for _, s := range statements {
			C.finalize(s.c)
		}
		C.unregisterAll()
		C.clearArray()
		made, ring, statements, filled = nil, nil, nil, [100]unsafe.Pointer{}
	})
}

// given makes blocks that nobody keeps, and frees them if fixed.
func given(makes func() unsafe.Pointer, fixed bool) judge.Setup {
	return func(*testing.T) func() {
		return func() {
			if p := makes(); fixed {
				free(p)
			}
		}
	}
}

func text() unsafe.Pointer   { return unsafe.Pointer(C.CString("a string that C code has been given")) }
func block() unsafe.Pointer  { return C.malloc(1000) }
func copied() unsafe.Pointer { return C.CBytes(make([]byte, 100)) }
func large() unsafe.Pointer  { return C.malloc(200_000) }

var round int

// various makes blocks of many sizes.
func various() unsafe.Pointer {
	round++
	return C.malloc(C.size_t(100 + 16*(round%300)))
}

// keptAll keeps the addresses.
func keptAll(t *testing.T) func() {
	reset(t)
	return func() { made = append(made, block()) }
}

// A statement of Go stands for one of C.
type statement struct {
	query string
	c     unsafe.Pointer
}

var statements []*statement

func prepare() *statement {
	query := C.CString("select * from sessions")
	defer C.free(unsafe.Pointer(query))
	return &statement{strings.Clone("select"), C.prepare(query)}
}

func (s *statement) close() { C.finalize(s.c) }

func prepared(closes bool) judge.Setup {
	return func(t *testing.T) func() {
		reset(t)
		return func() {
			s := prepare()
			if closes {
				s.close()
				return
			}
			statements = append(statements, s)
		}
	}
}

// dropped statements are lost with what C has of them.
func dropped(*testing.T) func() { return func() { prepare() } }

func registered(unregisters bool) judge.Setup {
	return func(t *testing.T) func() {
		reset(t)
		return func() {
			C.registerName()
			if unregisters {
				C.unregisterAll()
			}
		}
	}
}

func pushed(clears bool) judge.Setup {
	return func(t *testing.T) func() {
		reset(t)
		return func() {
			C.push()
			if clears {
				C.clearArray()
			}
		}
	}
}

func threaded(leaves int) judge.Setup {
	return func(*testing.T) func() { return func() { C.thread(C.size_t(leaves)) } }
}

// byTurns keeps the last ten blocks.
func byTurns(t *testing.T) func() {
	reset(t)
	return func() {
		if ring = append(ring, block()); len(ring) > 10 {
			free(ring[0])
			ring = ring[1:]
		}
	}
}

var filled [100]unsafe.Pointer

// cache fills up.
func cache(t *testing.T) func() {
	at := 0
	t.Cleanup(func() {
		for i, p := range filled {
			free(p)
			filled[i] = nil
		}
	})
	return func() {
		if at++; filled[at%len(filled)] == nil {
			filled[at%len(filled)] = block()
		}
	}
}

// collected statements are finalized when nobody has them any more.
func collected(*testing.T) func() {
	return func() {
		s := prepare()
		runtime.AddCleanup(s, func(c unsafe.Pointer) { C.finalize(c) }, s.c)
	}
}
