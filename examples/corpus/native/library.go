//go:build cgo && linux

package native

/*
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

// A cache of a thread's own.
static __thread node *own;
static void remember(void) { node *n = calloc(1, sizeof *n); n->next = own; own = n; }
static void forgetAll(void) { while (own) { node *n = own; own = n->next; free(n); } }

// A thread that keeps what it is asked for on its stack, until it is told to stop.
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static int wanted, stopping;
static pthread_t keeper;
static void *keep(void *unused) {
	node *volatile kept = NULL;
	pthread_mutex_lock(&asking);
	while (!stopping) {
		for (; wanted > 0; wanted--) { node *n = calloc(1, sizeof *n); n->next = kept; kept = n; }
		pthread_cond_broadcast(&asked);
		pthread_cond_wait(&asked, &asking);
	}
	pthread_mutex_unlock(&asking);
	while (kept) { node *n = kept; kept = n->next; free(n); }
	return unused;
}
static void startKeeper(void) { stopping = wanted = 0; pthread_create(&keeper, NULL, keep, NULL); }
static void ask(void) {
	pthread_mutex_lock(&asking);
	wanted++;
	pthread_cond_broadcast(&asked);
	while (wanted > 0) pthread_cond_wait(&asked, &asking);
	pthread_mutex_unlock(&asking);
}
static void stopKeeper(void) {
	pthread_mutex_lock(&asking);
	stopping = 1;
	pthread_cond_broadcast(&asked);
	pthread_mutex_unlock(&asking);
	pthread_join(keeper, NULL);
}

// Threads that wait for work which never comes, until all of them are told to end.
enum { mostWaiters = 4096 };
static sem_t work;
static pthread_t waiters[mostWaiters]; static int waiting;
static int waitersNow(void) { return waiting; }
static void *await(void *unused) { while (sem_wait(&work) != 0) {} return unused; }
static void startWaiter(void) {
	if (waiting == 0) sem_init(&work, 0, 0);
	if (waiting < mostWaiters && pthread_create(&waiters[waiting], NULL, await, NULL) == 0) waiting++;
}
static void endWaiters(void) {
	for (int i = 0; i < waiting; i++) sem_post(&work);
	while (waiting > 0) pthread_join(waiters[--waiting], NULL);
}

// Memory that a library has from the system, and not from malloc.
static void *map_(size_t n) { return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static void *aligned(void) { void *p = NULL; return posix_memalign(&p, 64, 1000) == 0 ? p : NULL; }

static void freeNumber(uintptr_t p) { free((void *)p); }

static size_t inUse(void) { struct mallinfo2 m = mallinfo2(); return m.uordblks + m.hblkhd; }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"example.com/corpus/internal/judge"
)

// addresses returns the size of the process's address space in bytes, with the stacks of threads.
func addresses() int {
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.Atoi(pages)
	return n * os.Getpagesize()
}

func osThreads() int {
	all, _ := os.ReadDir("/proc/self/task")
	return len(all)
}

// inUse returns the bytes that malloc itself counts as in use.
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

func text() unsafe.Pointer    { return unsafe.Pointer(C.CString("a string that C code has been given")) }
func block() unsafe.Pointer   { return C.malloc(1000) }
func copied() unsafe.Pointer  { return C.CBytes(make([]byte, 100)) }
func large() unsafe.Pointer   { return C.malloc(200_000) }
func aligned() unsafe.Pointer { return C.aligned() }

// A pool has blocks of C in all kinds of Go memory.
type pool struct {
	byName  map[string]unsafe.Pointer
	handles map[int]uintptr
	numbers []uintptr
	views   [][]byte
}

var pools pool

// pooled keeps a block somewhere in the pool.
func pooled(keep func(p unsafe.Pointer)) judge.Setup {
	return func(t *testing.T) func() {
		pools = pool{byName: make(map[string]unsafe.Pointer), handles: make(map[int]uintptr)}
		t.Cleanup(drain)
		return func() { keep(block()) }
	}
}

func drain() {
	for _, p := range pools.byName {
		free(p)
	}
	for _, p := range pools.handles {
		C.freeNumber(C.uintptr_t(p))
	}
	for _, p := range pools.numbers {
		C.freeNumber(C.uintptr_t(p))
	}
	for _, v := range pools.views {
		free(unsafe.Pointer(unsafe.SliceData(v)))
	}
	pools = pool{}
}

func inMap(p unsafe.Pointer)     { pools.byName[fmt.Sprint(len(pools.byName))] = p }
func inHandles(p unsafe.Pointer) { pools.handles[len(pools.handles)] = uintptr(p) }
func inNumbers(p unsafe.Pointer) { pools.numbers = append(pools.numbers, uintptr(p)) }
func inViews(p unsafe.Pointer)   { pools.views = append(pools.views, unsafe.Slice((*byte)(p), 100)) }

// remembered keeps blocks in a thread-local variable of C.
func remembered(forgets bool) judge.Setup {
	return func(t *testing.T) func() {
		runtime.LockOSThread()
		t.Cleanup(func() {
			C.forgetAll()
			runtime.UnlockOSThread()
		})
		return func() {
			C.remember()
			if forgets {
				C.forgetAll()
			}
		}
	}
}

// asked keeps blocks on the stack of a C thread.
func asked(t *testing.T) func() {
	C.startKeeper()
	t.Cleanup(func() { C.stopKeeper() })
	return func() { C.ask() }
}

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

// dropped loses statements of Go, and with them the blocks that C has for them.
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

const mapSize = 32 << 10

// mapped maps memory by C code.
func mapped(unmaps bool) judge.Setup {
	return func(*testing.T) func() {
		return func() {
			if p := C.map_(mapSize); unmaps {
				C.munmap(p, mapSize)
			}
		}
	}
}

// waiters are threads of C: one more with each call, or up to a limit.
func waiters(limit C.int, end bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { C.endWaiters() })
		return func() {
			if C.waitersNow() < limit {
				C.startWaiter()
			}
			if end {
				C.endWaiters()
			}
		}
	}
}

// lazily allocates ten blocks in one of many calls, as a library does that initialises itself late.
func lazily(t *testing.T) func() {
	reset(t)
	calls := 0
	return func() {
		if calls++; calls == 25 {
			for range 10 {
				made = append(made, block())
			}
		}
		free(block())
	}
}

// collected statements are finalized by a cleanup when they are garbage.
func collected(*testing.T) func() {
	return func() {
		s := prepare()
		runtime.AddCleanup(s, func(c unsafe.Pointer) { C.finalize(c) }, s.c)
	}
}
