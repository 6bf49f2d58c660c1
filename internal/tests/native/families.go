//go:build cgo && linux

package native

/*
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void goCallback(size_t n);

enum { page = 4096 };

__attribute__((noinline)) static void *inner(size_t n) { void *p = malloc(n); __asm__ volatile("" : "+r"(p)); return p; }
__attribute__((noinline)) static void *outer(size_t n) { void *p = inner(n); __asm__ volatile("" : "+r"(p)); return p; }

static void throughGo(size_t n) { goCallback(n); }

static void *onThread(void *arg) {
	size_t n = (size_t)arg;
	inner(n);
	goCallback(n); // the runtime knows the thread from now on
	inner(n);
	return NULL;
}
static void thread2(size_t n) { pthread_t t; pthread_create(&t, NULL, onThread, (void *)n); pthread_join(t, NULL); }

// family calls a function of malloc's family, by number, and leaves a block or a mapping of n
// bytes, or none.
static int family(int which, size_t n) {
	static volatile size_t most = SIZE_MAX / 2;
	static void *volatile none;
	void *p, *q;
	char *m;
	int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	switch (which) {
	case 0: return malloc(n) != NULL;
	case 1: return calloc(1, n) != NULL;
	case 2: return realloc(none, n) != NULL;
	case 3: return realloc(malloc(1), n) != NULL;
	case 4: return reallocarray(none, 2, n / 2) != NULL;
	case 5: return memalign(64, n) != NULL;
	case 6: return aligned_alloc(64, n) != NULL;
	case 7: return posix_memalign(&p, 64, n) == 0;
	case 8: return valloc(n) != NULL;
	case 9: return pvalloc(n) != NULL;
	case 10: p = malloc(n); return realloc(p, most) == NULL && p != NULL;
	case 11: p = malloc(n); return reallocarray(p, most, 8) == NULL && p != NULL;
	case 12: return mmap(NULL, n, prot, flags, -1, 0) != MAP_FAILED;
	case 13: return mmap64(NULL, n, prot, flags, -1, 0) != MAP_FAILED;
	case 14: p = mmap(NULL, page, prot, flags, -1, 0); return mremap(p, page, n, MREMAP_MAYMOVE) != MAP_FAILED;
	case 15: m = mmap(NULL, n + 2 * page, prot, flags, -1, 0); return munmap(m, page) == 0 && munmap(m + page + n, page) == 0;
	case 16: m = mmap(NULL, n + page, prot, flags, -1, 0); return munmap(m + page, page) == 0;
	case 17: p = mmap(NULL, n, prot, flags, -1, 0); return mremap(p, n, most, MREMAP_MAYMOVE) == MAP_FAILED;
	case 18: m = mmap(NULL, 2 * n, prot, flags, -1, 0); return munmap(m + 1, n) == -1 && munmap(m + n, n) == 0;
	case 19: free(malloc(n)); free(calloc(1, n)); q = realloc(malloc(n), 0); free(memalign(64, n)); free(valloc(n)); return q == NULL;
	case 20: p = mmap(NULL, n, prot, flags, -1, 0); return munmap(p, n) == 0;
	case 21: p = malloc(n); memset(p, 7, n); p = realloc(p, 2 * n); q = realloc(p, n); return ((char *)q)[n - 1] == 7;
	}
	return -1;
}

static void many(long n) { for (long i = 0; i < n; i++) { void *p = malloc(64); __asm__ volatile("" : "+r"(p)); free(p); } }
static void keep(long n) { for (long i = 0; i < n; i++) { void *p = malloc(16); __asm__ volatile("" : "+r"(p)); } }
*/
import "C"

// page is that of family's mappings.
const page = 4096

// family calls the functions of malloc's family and of mmap's: each of families ways leaves a block
// or a mapping of n bytes, a multiple of page, but for those of which leaves says otherwise. It
// reports whether they returned what they should.
func family(which, n int) bool { return C.family(C.int(which), C.size_t(n)) == 1 }

// families is how many ways family has.
const families = 22

// leaves says how many pieces a way of family leaves, of how many bytes together, and by which
// function.
func leaves(which, n int) (pieces, bytes int, by string) {
	switch which {
	case 19, 20:
		return 0, 0, ""
	case 16:
		return 2, n, "mmap"
	}
	names := []string{"malloc", "calloc", "realloc", "realloc", "realloc", "memalign", "memalign", "memalign", "memalign", "memalign", "malloc", "malloc", "mmap", "mmap", "mremap", "mmap", "mmap", "mmap", "mmap", "", "", "realloc"}
	return 1, n, names[which]
}

// outer allocates in a C function that another one calls.
//
//go:noinline
func outer(n int) { C.outer(C.size_t(n)) }

// throughGo calls C code that calls Go code that calls outer.
func throughGo(n int) { C.throughGo(C.size_t(n)) }

// onThread allocates on a thread of C's: before it calls Go code, in that, and afterwards.
func onThread(n int) { C.thread2(C.size_t(n)) }

// many allocates and frees n blocks.
func many(n int) { C.many(C.long(n)) }

// keep allocates n blocks.
func keep(n int) { C.keep(C.long(n)) }
