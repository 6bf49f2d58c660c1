//go:build cgo && linux && (amd64 || arm64)

// Package ownmalloc has a malloc that is linked into the program, as other allocators may be.
package ownmalloc

/*
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t);

// Blocks are cut from pieces of glibc's, and never used again. Each has its size before it.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t at, end;

void *memalign(size_t alignment, size_t size) {
	if (alignment < 16) alignment = 16;
	pthread_mutex_lock(&lock);
	uintptr_t p = (at + 16 + alignment - 1) & -alignment;
	if (at == 0 || p + size > end) {
		size_t room = (1 << 20) + size + alignment;
		at = (uintptr_t)__libc_malloc(room);
		end = at + room;
		p = (at + 16 + alignment - 1) & -alignment;
	}
	at = p + size;
	((size_t *)p)[-1] = size;
	pthread_mutex_unlock(&lock);
	return (void *)p;
}
void *malloc(size_t size) { return memalign(16, size); }
void free(void *p) { (void)p; }
static void *(*volatile set)(void *, int, size_t) = memset; // else the compiler makes it call itself
void *calloc(size_t n, size_t size) { return set(malloc(n * size), 0, n * size); }
void *realloc(void *old, size_t size) {
	void *p = malloc(size);
	if (old) memcpy(p, old, ((size_t *)old)[-1] < size ? ((size_t *)old)[-1] : size);
	return p;
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **p, size_t alignment, size_t size) { *p = memalign(alignment, size); return 0; }
*/
import "C"

import "unsafe"

// Malloc calls the package's malloc.
func Malloc(n int) unsafe.Pointer { return C.malloc(C.size_t(n)) }
