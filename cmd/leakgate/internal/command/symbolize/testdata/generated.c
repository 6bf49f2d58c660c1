// What host.c loads as code that it generated. It refers to nothing, so it needs no relocation.
typedef void *allocate(unsigned long);

static __attribute__((noinline)) char *script_open(allocate *f, unsigned long n) {
	char *p = f(n);
	if (p)
		p[0] = 1;
	return p;
}

char *script_main(allocate *f, unsigned long n) {
	char *p = script_open(f, n);
	__asm__ volatile("" ::: "memory");
	return p;
}
