// A library that records which calls of malloc and its kin are behind the blocks that C code has. It is
// preloaded into a test binary by "leakgate run -native", or, compiled with LEAKGATE_LINKED, linked into one
// that has the C library in it, with the linker's option --wrap for each function. It records nothing until leakcheck, in the same
// process, switches it on by the variable below, which leakcheck finds by its symbol; and it takes no locks,
// so that a copy of the process at any moment has tables that can be read.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef LEAKGATE_NO_UNWINDER
#include <unwind.h>
#endif

enum {
	depth = 62,          // calls of a stack, C's and Go's
	maxC = 40,           // of these C's
	nBlocks = 1 << 20,
	nStacks = 1 << 14,
	nMaps = 1 << 12,
	probes = 256,        // how far from its place an entry may be
	maxThreads = 1 << 16,
};

// What was called.
enum { byMalloc = 1, byCalloc, byRealloc, byMemalign, byMmap, byMremap };

typedef struct {
	_Atomic uint64_t addr; // 0: never used, 1: free again
	uint64_t size;
	uint32_t stack, kind;
} block;

typedef struct {
	_Atomic uint64_t hash; // 0: not used
	_Atomic uint32_t ready;
	uint16_t c, go;        // how many calls there are of each
	uint64_t pc[depth];    // C's first, each innermost first
} stack;

// Package nativecalls has the same struct.
struct control {
	uint64_t magic, version;
	_Atomic uint64_t enabled;
	// Where the runtime has its threads (runtime.allm) and the fields of m and g; allm is 0 where that is not known.
	uint64_t allm, mNext, mProcid, mCurg, mExtra, gLo, gHi, gSP, gBP, gStatus;
	uint64_t textLo, textHi; // Go's code
	uint64_t blocksLen, stacksLen, mapsLen, depth;
	block *blocks;
	stack *stacks;
	block *maps;
	_Atomic uint64_t live; // blocks and mappings in the tables
	_Atomic uint64_t lost; // calls that could not be recorded
	_Atomic uint64_t mapsUsed;
	_Atomic uint64_t calls;
};

#define exported __attribute__((visibility("default")))
exported struct control leakgate_native;
#define C leakgate_native

static __thread int busy __attribute__((tls_model("initial-exec")));
static __thread long thread __attribute__((tls_model("initial-exec")));
static __thread uint64_t machine __attribute__((tls_model("initial-exec"))); // its m, once found

#ifdef LEAKGATE_LINKED
// The linker leads calls of malloc to __wrap_malloc, and those of __real_malloc to malloc. What the C library calls
// by names of its own stays as it is, and so does reallocarray, which calls realloc.
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void __real_free(void *);
void *__real_memalign(size_t, size_t);
void *__real_aligned_alloc(size_t, size_t);
int __real_posix_memalign(void **, size_t, size_t);
void *__real_valloc(size_t);
void *__real_pvalloc(size_t);
#define realMalloc __real_malloc
#define realCalloc __real_calloc
#define realRealloc __real_realloc
#define realFree __real_free
#define realMemalign __real_memalign
#define realAlignedAlloc __real_aligned_alloc
#define realPosixMemalign __real_posix_memalign
#define realValloc __real_valloc
#define realPvalloc __real_pvalloc
#undef mmap64
#define malloc __wrap_malloc
#define calloc __wrap_calloc
#define realloc __wrap_realloc
#define free __wrap_free
#define memalign __wrap_memalign
#define aligned_alloc __wrap_aligned_alloc
#define posix_memalign __wrap_posix_memalign
#define valloc __wrap_valloc
#define pvalloc __wrap_pvalloc
#define mmap __wrap_mmap
#define mmap64 __wrap_mmap64
#define munmap __wrap_munmap
#define mremap __wrap_mremap
#define sameAsMmap __attribute__((alias("__wrap_mmap")))
#else
#define sameAsMmap __attribute__((alias("mmap")))
static void *(*realMalloc)(size_t);
static void *(*realCalloc)(size_t, size_t);
static void *(*realRealloc)(void *, size_t);
static void (*realFree)(void *);
static void *(*realMemalign)(size_t, size_t);
static void *(*realAlignedAlloc)(size_t, size_t);
static int (*realPosixMemalign)(void **, size_t, size_t);
static void *(*realValloc)(size_t);
static void *(*realPvalloc)(size_t);
#endif

// The dynamic linker itself may allocate while the next malloc is looked for. That memory is never freed.
static char early[1 << 16] __attribute__((aligned(16)));
static size_t earlyUsed;
static int resolving;

static int isEarly(void *p) { return (char *)p >= early && (char *)p < early + sizeof early; }

static void *takeEarly(size_t n) {
	size_t at = earlyUsed;
	n = (n + 15) & ~(size_t)15;
	if (n > sizeof early - at) {
		errno = ENOMEM;
		return NULL;
	}
	earlyUsed = at + n;
	return early + at;
}

#ifdef LEAKGATE_LINKED
static int ready(void) { return 1; }
#else
// ready reports whether the next functions are known, and looks for them.
static int ready(void) {
	if (__builtin_expect(realFree != NULL, 1)) return 1;
	if (resolving) return 0;
	resolving = 1;
	realMalloc = dlsym(RTLD_NEXT, "malloc");
	realCalloc = dlsym(RTLD_NEXT, "calloc");
	realRealloc = dlsym(RTLD_NEXT, "realloc");
	realMemalign = dlsym(RTLD_NEXT, "memalign");
	realAlignedAlloc = dlsym(RTLD_NEXT, "aligned_alloc");
	realPosixMemalign = dlsym(RTLD_NEXT, "posix_memalign");
	realValloc = dlsym(RTLD_NEXT, "valloc");
	realPvalloc = dlsym(RTLD_NEXT, "pvalloc");
	realFree = dlsym(RTLD_NEXT, "free");
	resolving = 0;
	return realFree != NULL;
}
#endif

// hide takes this library out of LD_PRELOAD, so that what the program starts does not get it. The environment
// keeps its length: what follows it in memory is looked for behind its end.
static void hide(void) {
	extern char **environ;
	static const char name[] = "LD_PRELOAD=", ours[] = "/libleakgate-native-";
	if (!environ) return;
	for (char **e = environ; *e; e++) {
		if (strncmp(*e, name, sizeof name - 1)) continue;
		char *to = *e + sizeof name - 1, *from = to;
		int kept = 0;
		while (*from) {
			char *end = from + strcspn(from, ": ");
			size_t len = end - from;
			int is = 0;
			for (char *p = from; p + sizeof ours - 1 <= end; p++) is |= !memcmp(p, ours, sizeof ours - 1);
			char *next = *end ? end + 1 : end;
			if (!is && len > 0) {
				if (kept) *to++ = ':';
				memmove(to, from, len);
				to += len;
				kept = 1;
			}
			from = next;
		}
		*to = 0;
		if (kept) continue;
		char *empty = *e + strlen(*e);
		for (; e[1]; e++) *e = e[1];
		*e = empty;
		break;
	}
}

static void *reserve(size_t n) {
	void *p = (void *)syscall(SYS_mmap, NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, (off_t)0);
	if (p == MAP_FAILED) return NULL;
#ifdef MADV_NOHUGEPAGE
	syscall(SYS_madvise, p, n, MADV_NOHUGEPAGE);
#endif
	return p;
}

__attribute__((constructor)) static void begin(void) {
	hide();
	ready();
	C.blocks = reserve(sizeof(block) * nBlocks);
	C.stacks = reserve(sizeof(stack) * nStacks);
	C.maps = reserve(sizeof(block) * nMaps);
	C.blocksLen = nBlocks;
	C.stacksLen = nStacks;
	C.mapsLen = nMaps;
	C.depth = depth;
	C.version = 1;
	if (C.blocks && C.stacks && C.maps) C.magic = 0x6c65616b67617465ull;
}

static uint64_t mix(uint64_t x) {
	x ^= x >> 33; x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

#define word(addr) (*(volatile uint64_t *)(addr))

// machineOf finds the runtime's record of this thread (m): by its number, once. Threads that C code started get one
// when they first call Go. The runtime's memory stays mapped, whatever becomes of a thread.
static uint64_t machineOf(void) {
	if (!thread) thread = syscall(SYS_gettid);
	if (machine && word(machine + C.mProcid) == (uint64_t)thread) return machine;
	machine = 0;
	uint64_t m = word(C.allm);
	for (int i = 0; m && i < maxThreads; i++, m = word(m + C.mNext))
		if (word(m + C.mProcid) == (uint64_t)thread) return machine = m;
	return 0;
}

// goStack follows the frame pointers of the goroutine that called C code on this thread. Where it did was noted down
// when it left its stack (g.sched). There is none on a thread of C's, also if that has called Go before.
static int goStack(uint64_t *pc, int max) {
	uint64_t m, g;
	if (!C.allm || !(m = machineOf()) || !(g = word(m + C.mCurg))) return 0;
	if (C.mExtra && *(volatile uint8_t *)(m + C.mExtra)) return 0;
	uint32_t status = *(volatile uint32_t *)(g + C.gStatus) & ~0x1000u;
	if (status != 2 && status != 3) return 0; // running, in a system call
	uint64_t lo = word(g + C.gLo), hi = word(g + C.gHi), sp = word(g + C.gSP), bp = word(g + C.gBP);
	int n = 0;
	if (sp < lo || sp >= hi || bp < sp) return 0;
	while (n < max && bp >= lo && bp + 16 <= hi && !(bp & 7)) {
		uint64_t ret = word(bp + 8), next = word(bp);
		if (!ret) break;
		pc[n++] = ret;
		if (next <= bp) break;
		bp = next;
	}
	return n;
}

struct walk {
	uint64_t *pc, from; // from is where our caller goes on
	int n, on;
};

#ifndef LEAKGATE_NO_UNWINDER
static _Unwind_Reason_Code frame(struct _Unwind_Context *c, void *arg) {
	struct walk *w = arg;
	uint64_t pc = _Unwind_GetIP(c);
	if (!pc || (pc >= C.textLo && pc < C.textHi)) return _URC_END_OF_STACK;
	w->on |= pc == w->from;
	if (!w->on) return _URC_NO_REASON;
	if (w->n == maxC) return _URC_END_OF_STACK;
	w->pc[w->n++] = pc;
	return _URC_NO_REASON;
}
#endif

// record returns the number of the stack that this is called on, -1 if there is no room for it.
static __attribute__((noinline)) int64_t record(uint64_t from) {
	uint64_t pc[depth];
	struct walk w = {pc, from, 0, 0};
#ifndef LEAKGATE_NO_UNWINDER
	_Unwind_Backtrace(frame, &w);
#endif
	if (!w.n && !(from >= C.textLo && from < C.textHi)) pc[w.n++] = from;
	int go = goStack(pc + w.n, depth - w.n), n = w.n + go;
	uint64_t h = mix((uint64_t)w.n << 32 | n);
	for (int i = 0; i < n; i++) h = mix(h ^ pc[i]) + i;
	if (!h) h = 1;
	for (uint32_t k = 0, i = h & (nStacks - 1); k < probes; k++, i = (i + 1) & (nStacks - 1)) {
		stack *s = &C.stacks[i];
		uint64_t e = atomic_load(&s->hash);
		if (!e && atomic_compare_exchange_strong(&s->hash, &e, h)) {
			s->c = w.n;
			s->go = go;
			memcpy(s->pc, pc, n * sizeof *pc);
			atomic_store(&s->ready, 1);
			return i;
		}
		if (e == h) return i;
	}
	return -1;
}

static void lose(void) { atomic_fetch_add(&C.lost, 1); }

// put enters a block.
static void put(uint64_t addr, uint64_t size, uint32_t at, uint32_t kind) {
	block *free = NULL;
	uint64_t was = 0;
	for (uint32_t k = 0, i = mix(addr) & (nBlocks - 1); k < probes; k++, i = (i + 1) & (nBlocks - 1)) {
		block *b = &C.blocks[i];
		uint64_t e = atomic_load(&b->addr);
		if (e == addr) { // was freed by a way of its own
			b->size = size; b->stack = at; b->kind = kind;
			return;
		}
		if (e < 2 && !free) { free = b; was = e; }
		if (!e) break;
	}
	for (int again = 0; free && again < 4; again++) {
		if (atomic_compare_exchange_strong(&free->addr, &was, addr)) {
			free->size = size; free->stack = at; free->kind = kind;
			atomic_fetch_add(&C.live, 1);
			return;
		}
		free = NULL; // another thread was faster
		for (uint32_t k = 0, i = mix(addr) & (nBlocks - 1); k < probes && !free; k++, i = (i + 1) & (nBlocks - 1))
			if ((was = atomic_load(&C.blocks[i].addr)) < 2) free = &C.blocks[i];
	}
	lose();
}

// take removes a block, and returns what was known of it: its address is 0 if nothing was.
static block take(uint64_t addr) {
	block none = {0};
	if (!addr || !atomic_load_explicit(&C.live, memory_order_relaxed)) return none;
	for (uint32_t k = 0, i = mix(addr) & (nBlocks - 1); k < probes; k++, i = (i + 1) & (nBlocks - 1)) {
		block *b = &C.blocks[i];
		uint64_t e = atomic_load(&b->addr);
		if (!e) return none;
		if (e == addr) {
			none = *b;
			atomic_store(&b->addr, 1);
			atomic_fetch_sub(&C.live, 1);
			return none;
		}
	}
	return none;
}

static int on(void) { return __builtin_expect(atomic_load_explicit(&C.enabled, memory_order_relaxed) != 0, 0) && !busy; }

static __attribute__((noinline)) void note(void *p, size_t n, uint32_t kind, void *from) {
	int e = errno;
	busy = 1;
	atomic_fetch_add(&C.calls, 1);
	int64_t at = record((uint64_t)from);
	if (at < 0) lose();
	else put((uint64_t)p, n, at, kind);
	busy = 0;
	errno = e;
}

#define caller __builtin_extract_return_addr(__builtin_return_address(0))
// What an allocator does itself, such as to map memory, is not the program's.
#define allocates(what) (busy++, what, busy--)
#define noted(p, n, kind) do { if ((p) && on()) note(p, n, kind, caller); } while (0)

exported void *malloc(size_t n) {
	void *p;
	if (!ready()) return takeEarly(n);
	allocates(p = realMalloc(n));
	noted(p, n, byMalloc);
	return p;
}

exported void *calloc(size_t a, size_t b) {
	void *p;
	if (!ready()) return b && a > SIZE_MAX / b ? NULL : takeEarly(a * b); // zero, since never used
	allocates(p = realCalloc(a, b));
	noted(p, a * b, byCalloc);
	return p;
}

exported void free(void *p) {
	if (!p || isEarly(p)) return;
	if (!ready()) return;
	take((uint64_t)p);
	allocates(realFree(p));
}

// resized is realloc. Another thread may get the old address as soon as the block is freed, so it is taken out of the
// table before, and put back if it stays.
static inline __attribute__((always_inline)) void *resized(void *o, size_t n, void *from) {
	void *p;
	if (o && isEarly(o)) {
		if (!(p = malloc(n))) return NULL;
		size_t most = early + sizeof early - (char *)o;
		return memcpy(p, o, n < most ? n : most);
	}
	if (!ready()) return o ? NULL : takeEarly(n);
	block was = take((uint64_t)o);
	allocates(p = realRealloc(o, n));
	if (p) {
		if (on()) note(p, n, byRealloc, from);
		else if (was.addr) put((uint64_t)p, n, was.stack, was.kind);
	} else if (was.addr && n) {
		put(was.addr, was.size, was.stack, was.kind);
	}
	return p;
}

exported void *realloc(void *o, size_t n) { return resized(o, n, caller); }

#ifndef LEAKGATE_LINKED
exported void *reallocarray(void *o, size_t a, size_t b) {
	if (b && a > SIZE_MAX / b) {
		errno = ENOMEM;
		return NULL;
	}
	return resized(o, a * b, caller);
}
#endif

#define aligned(real, call, size) do { \
	void *p; \
	if (!ready() || !real) { errno = ENOMEM; return NULL; } \
	allocates(p = call); \
	noted(p, size, byMemalign); \
	return p; \
} while (0)

exported void *memalign(size_t a, size_t n) { aligned(realMemalign, realMemalign(a, n), n); }
exported void *aligned_alloc(size_t a, size_t n) { aligned(realAlignedAlloc, realAlignedAlloc(a, n), n); }
exported void *valloc(size_t n) { aligned(realValloc, realValloc(n), n); }
exported void *pvalloc(size_t n) { aligned(realPvalloc, realPvalloc(n), n); }

exported int posix_memalign(void **p, size_t a, size_t n) {
	int err;
	if (!ready() || !realPosixMemalign) return ENOMEM;
	allocates(err = realPosixMemalign(p, a, n));
	if (!err) noted(*p, n, byMemalign);
	return err;
}

// newMapping claims an entry, whose address is 2 until it is known; NULL if there is no room.
static block *newMapping(uint64_t size, uint32_t at, uint32_t kind) {
	for (uint64_t i = 0; i < nMaps; i++) {
		block *m = &C.maps[i];
		uint64_t was = atomic_load(&m->addr);
		if (was > 1 || !atomic_compare_exchange_strong(&m->addr, &was, 2)) continue;
		m->size = size; m->stack = at; m->kind = kind;
		uint64_t used = atomic_load(&C.mapsUsed);
		while (used <= i && !atomic_compare_exchange_weak(&C.mapsUsed, &used, i + 1)) { }
		atomic_fetch_add(&C.live, 1);
		return m;
	}
	lose();
	return NULL;
}

// cut takes a range of addresses out of the table of mappings, and returns what was known of it. Of a mapping that
// it splits both ends stay.
static block cut(uint64_t lo, uint64_t hi) {
	block was = {0};
	uint64_t used = atomic_load(&C.mapsUsed);
	for (uint64_t i = 0; i < used && i < nMaps; i++) {
		block *m = &C.maps[i], *end;
		uint64_t from = atomic_load(&m->addr), to = from + m->size;
		if (from <= 2 || from >= hi || to <= lo) continue;
		was = *m;
		if (from < lo) {
			m->size = lo - from;
			if (to > hi && (end = newMapping(to - hi, m->stack, m->kind))) atomic_store(&end->addr, hi);
		} else if (to > hi) {
			m->size = to - hi;
			atomic_store(&m->addr, hi);
		} else {
			atomic_store(&m->addr, 1);
			atomic_fetch_sub(&C.live, 1);
		}
	}
	return was;
}

static __attribute__((noinline)) void noteMapping(void *p, size_t n, uint32_t kind, void *from) {
	int e = errno;
	busy = 1;
	atomic_fetch_add(&C.calls, 1);
	int64_t at = record((uint64_t)from);
	block *m = at < 0 ? NULL : newMapping(n, at, kind);
	if (at < 0) lose();
	if (m) atomic_store(&m->addr, (uint64_t)p);
	busy = 0;
	errno = e;
}

// unmapped is called before another thread can get the address.
static block unmapped(void *p, size_t n) {
	block none = {0};
	if (busy || !atomic_load_explicit(&C.mapsUsed, memory_order_relaxed)) return none;
	uint64_t page = getpagesize(), at = (uint64_t)p;
	if (at % page) return none; // which is an error
	return cut(at, at + (n + page - 1) / page * page);
}

static void remains(block was, void *p, size_t n) {
	block *m = was.addr ? newMapping(n, was.stack, was.kind) : NULL;
	if (m) atomic_store(&m->addr, (uint64_t)p);
}

exported void *mmap(void *a, size_t n, int prot, int flags, int fd, off_t off) {
	if (flags & MAP_FIXED) unmapped(a, n);
	void *p = (void *)syscall(SYS_mmap, a, n, prot, flags, fd, off);
	if (p != MAP_FAILED && on()) noteMapping(p, n, byMmap, caller);
	return p;
}

#ifndef LEAKGATE_LINKED
#undef mmap64
#endif
exported void *mmap64(void *a, size_t n, int prot, int flags, int fd, off_t off) sameAsMmap;

exported int munmap(void *a, size_t n) {
	block was = unmapped(a, n);
	int err = syscall(SYS_munmap, a, n);
	if (err) remains(was, a, n);
	return err;
}

exported void *mremap(void *old, size_t from, size_t to, int flags, ...) {
	va_list args;
	va_start(args, flags);
	void *at = flags & MREMAP_FIXED ? va_arg(args, void *) : NULL;
	va_end(args);
	block was = unmapped(old, from);
	if (at) unmapped(at, to);
	void *p = (void *)syscall(SYS_mremap, old, from, to, flags, at);
	if (p == MAP_FAILED) remains(was, old, from);
	else if (on()) noteMapping(p, to, byMremap, caller);
	else remains(was, p, to);
	return p;
}
