// A program that keeps memory: 300 blocks by itself, and as many in a library.
#include <stdio.h>
#include <stdlib.h>

void leaf_keep(long n);
void *leaf_kept(int i);

void *own[1000];

static __attribute__((noinline)) void keep_own(int i) { own[i] = malloc(1000); __asm__ volatile(""); }

static inline __attribute__((always_inline)) void both(int i) {
	keep_own(i);
	leaf_keep(2000);
}

__attribute__((noinline)) void work(void) {
	for (int i = 0; i < 300; i++)
		both(i);
}

int main(void) {
	work();
	return leaf_kept(0) == NULL;
}
