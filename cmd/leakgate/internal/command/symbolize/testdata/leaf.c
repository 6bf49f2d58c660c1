// The library of app.c. Its functions have the names that compilers of C++ and Rust give them.
#include <stdlib.h>

#define NAMED(name) __asm__(name) __attribute__((noinline))

static void *kept[1000];
static int count;

static void keep(long n) NAMED("_ZN4leaf6KeeperINS_4NodeELi3EE4keepEm");
static void keep(long n) { kept[count++] = malloc(n); }

void grow(long n) NAMED("_ZN4leaf4list4grow17h0123456789abcdefE");
void grow(long n) { keep(n); __asm__ volatile(""); }

void leaf_keep(long n) { grow(n); __asm__ volatile(""); }
void *leaf_kept(int i) { return kept[i]; }
