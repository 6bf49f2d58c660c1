//go:build cgo && linux

package native

/*
#cgo LDFLAGS: -lpthread -ldl
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most = 2000, threads = 6 };

static uint64_t next(uint64_t *s) {
	*s ^= *s << 13; *s ^= *s >> 7; *s ^= *s << 17;
	return *s;
}

// allocate calls malloc and its kin at random; kept are blocks that stay.
static void allocate(uint64_t seed, void **kept, int n, int rounds) {
	for (int i = 0; i < rounds; i++) {
		int at = next(&seed) % n;
		size_t size = 1 + next(&seed) % (next(&seed) % 16 == 0 ? 5000 : 700);
		if (next(&seed) % 400 == 0) size += 200000;
		if (next(&seed) % 40 == 0) size = 656 - 8; // of a tcache's size
		switch (next(&seed) % 6) {
		case 0: case 1:
			free(kept[at]); kept[at] = malloc(size); memset(kept[at], (int)size, size); break;
		case 2:
			free(kept[at]); kept[at] = calloc(1, size); break;
		case 3:
			kept[at] = realloc(kept[at], size); break;
		case 4:
			free(kept[at]); kept[at] = NULL; break;
		case 5:
			free(kept[at]); kept[at] = aligned_alloc(64, (size + 63) & ~63); break;
		}
	}
}

typedef struct {
	uint64_t seed; int rounds; int stay;
	void *kept[most];
	pthread_t thread;
} worker;

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int released;
static worker *workers[threads];

static void *work(void *arg) {
	worker *w = arg;
	allocate(w->seed, w->kept, most, w->rounds);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	while (!released) pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void start(uint64_t seed, int n, int rounds) {
	pthread_barrier_init(&barrier, NULL, n + 1);
	released = 0;
	for (int i = 0; i < n; i++) {
		workers[i] = calloc(1, sizeof(worker));
		workers[i]->seed = seed * 31 + i + 1;
		workers[i]->rounds = rounds;
		pthread_create(&workers[i]->thread, NULL, work, workers[i]);
	}
	pthread_barrier_wait(&barrier);
}

static void end(int n) {
	pthread_mutex_lock(&mutex);
	released = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < n; i++) {
		pthread_join(workers[i]->thread, NULL);
		for (int k = 0; k < most; k++) free(workers[i]->kept[k]);
		free(workers[i]);
		workers[i] = NULL;
	}
	pthread_barrier_destroy(&barrier);
}

static volatile int stop;
static void *busy(void *arg) {
	uint64_t seed = (uintptr_t)arg + 77;
	void **kept = calloc(most, sizeof *kept);
	while (!stop) allocate(next(&seed) | 1, kept, most, 1000);
	for (int k = 0; k < most; k++) free(kept[k]);
	free(kept);
	return NULL;
}
static pthread_t busies[threads];
static void startBusy(int n) {
	stop = 0;
	for (int i = 0; i < n; i++) pthread_create(&busies[i], NULL, busy, (void *)(uintptr_t)i);
}
static void endBusy(int n) {
	stop = 1;
	for (int i = 0; i < n; i++) pthread_join(busies[i], NULL);
}

static size_t inUse(void) { return mallinfo2().uordblks; }
static size_t mapped(void) { return mallinfo2().hblkhd; }
static size_t mappings(void) { return mallinfo2().hblks; }

static void inUseAll(size_t *use, size_t *hblkhd) { struct mallinfo2 m = mallinfo2(); *use = m.uordblks; *hblkhd = m.hblkhd; }

static void *volatile last;
// What stays is cleared: words of blocks before it would lead to others.
static void *leaker(void *arg) { if (arg) last = calloc(1, (size_t)arg); return NULL; }
static void thread(size_t n) { pthread_t t; pthread_create(&t, NULL, leaker, (void *)n); pthread_join(t, NULL); }

static char *list; static size_t length, room;
static void grow(void) {
	if (length + 64 > room) {
		list = realloc(list, room + 4096);
		memset(list + room, 0, 4096);
		room += 4096;
	}
	length += 64;
}

static void *entries[1000]; static int nextEntry;
static void cache(int n) {
	int at = nextEntry++ % n;
	if (!entries[at]) entries[at] = calloc(1, 333);
}

// A graph of blocks: each refers to others by an address somewhere in them, and some are referred
// to by a variable. Addresses are told as their complements, which are none.
enum { ways = 3, blockSize = 700 };
static void *heads[64];
static void **nodes; // complemented, in a block that is scrambled, too
static int nodeCount;
static __attribute__((noinline)) void makeNodes(void) {
	nodes = malloc(nodeCount * sizeof *nodes);
	for (int i = 0; i < nodeCount; i++) nodes[i] = (void *)~(uintptr_t)calloc(1, blockSize);
}
// scrub clears what calls have left below the stack pointer: addresses of blocks.
static __attribute__((noinline)) void scrub(void) {
	volatile char left[16 << 10];
	for (size_t i = 0; i < sizeof left; i++) left[i] = 0;
}
static void *makeGraph(void *arg) {
	makeNodes();
	scrub();
	return NULL;
}
// A thread of its own has an arena of its own, at addresses that no number looks like. The first
// arena of a program at a fixed address may lie where a second has its nanoseconds.
static void graph(int n) {
	pthread_t thread;
	nodeCount = n;
	if (pthread_create(&thread, NULL, makeGraph, NULL)) abort();
	pthread_join(thread, NULL);
}
static uint64_t node(int i) { return (uint64_t)nodes[i]; }
static void refer(int from, int way, int to, int inner) {
	((uintptr_t *)~(uintptr_t)nodes[from])[way] = ~(uintptr_t)nodes[to] + inner;
}
static void head(int i, int to) { heads[i] = to < 0 ? NULL : (void *)~(uintptr_t)nodes[to]; }
static void freeGraph(void) {
	memset(heads, 0, sizeof heads);
	for (int i = 0; i < nodeCount; i++) free((void *)~(uintptr_t)nodes[i]);
	free(nodes);
	nodes = NULL; // what it led to may be allocated again
}

static void *(*hold)(size_t, int);
static char *load(const char *file) {
	void *lib = dlopen(file, RTLD_NOW);
	if (!lib) return dlerror();
	hold = dlsym(lib, "hold");
	return hold ? NULL : dlerror();
}
struct request {
	size_t n;
	int where;
	uint64_t block;
	sem_t done;
};
static void *holdFor(void *arg) {
	struct request *r = arg;
	r->block = ~(uint64_t)hold(r->n, r->where);
	scrub();
	sem_post(&r->done);
	for (;;) pause();
}
// Memory that belongs to a variable of a thread comes from the thread's arena, as the block does.
static uint64_t held(size_t n, int where) {
	struct request r = {n, where};
	pthread_t thread;
	sem_init(&r.done, 0, 0);
	if (pthread_create(&thread, NULL, holdFor, &r)) abort();
	while (sem_wait(&r.done));
	return r.block;
}

static void *leak(size_t n) { return malloc(n); }
static void *zeroed(size_t n) { return calloc(1, n); }
*/
import "C"

import (
	"errors"
	"unsafe"
)

// What a graph has room for.
const (
	maxHeads  = 64
	ways      = 3
	blockSize = 700
)

// makeGraph makes n blocks, for link and setHead to connect.
func makeGraph(n int) { C.graph(C.int(n)) }

// nodeAddress returns the complement of a block's address.
func nodeAddress(i int) uint64 { return uint64(C.node(C.int(i))) }

// link has a block refer to a byte in another one.
func link(from, way, to, inner int) { C.refer(C.int(from), C.int(way), C.int(to), C.int(inner)) }

// setHead has a C variable refer to a block; -1 is none.
func setHead(i, to int) { C.head(C.int(i), C.int(to)) }

// freeGraph frees what makeGraph made.
func freeGraph() { C.freeGraph() }

// loadLibrary loads a shared library with a function hold.
func loadLibrary(file string) error {
	name := C.CString(file)
	defer C.free(unsafe.Pointer(name))
	if err := C.load(name); err != nil {
		return errors.New(C.GoString(err))
	}
	return nil
}

// heldBlock has the library hold a block of n bytes somewhere, in a thread that does not end, and
// returns the complement of its address.
func heldBlock(n, where int) uint64 { return uint64(C.held(C.size_t(n), C.int(where))) }

// maxThreads is how many threads startThreads can start.
const maxThreads = 6

// startThreads starts n threads that allocate at random, each so many rounds, and then wait.
func startThreads(seed uint64, n, rounds int) { C.start(C.uint64_t(seed), C.int(n), C.int(rounds)) }

// endThreads ends the threads that startThreads has started, and frees what they have.
func endThreads(n int) { C.end(C.int(n)) }

// startBusy starts n threads that allocate all the time.
func startBusy(n int) { C.startBusy(C.int(n)) }

// endBusy ends the threads of startBusy.
func endBusy(n int) { C.endBusy(C.int(n)) }

// mallinfo is what mallinfo2(3) says of all arenas: bytes in use, and those in mappings.
func mallinfo() (inUse, mapped, mappings int64) {
	return int64(C.inUse()), int64(C.mapped()), int64(C.mappings())
}

// leak allocates a block and forgets it.
func leak(n int) unsafe.Pointer { return C.leak(C.size_t(n)) }

// zeroed is leak, with memory that is zero.
func zeroed(n int) unsafe.Pointer { return C.zeroed(C.size_t(n)) }

// free frees a block.
func free(p unsafe.Pointer) { C.free(p) }

// leakString makes a C string and forgets it.
func leakString(s string) { C.CString(s) }

// allocateOnThread starts a C thread that leaves a block of n bytes, none if n is 0, and waits for
// its end.
func allocateOnThread(n int) { C.thread(C.size_t(n)) }

// grow adds to a list that has one block of memory.
func grow() { C.grow() }

// cacheBlocks fills one of n places that is empty.
func cacheBlocks(n int) { C.cache(C.int(n)) }
