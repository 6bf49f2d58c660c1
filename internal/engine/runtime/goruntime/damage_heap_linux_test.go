package goruntime_test

import (
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

var damagedHeaps = []damage{
	{"absurd number of spans", func(b *imagetest.Bench) {
		b.PutU64(b.Variable("runtime.mheap_")+b.Offset("runtime.mheap", "allspans")+8, 1<<50)
	}, "the heap claims"},
	{"more spans than the list has", func(b *imagetest.Bench) {
		b.PutU64(b.Variable("runtime.mheap_")+b.Offset("runtime.mheap", "allspans")+8, 1<<27)
	}, "the list of 134217728 spans cannot be read"},
	{"span of a terabyte", func(b *imagetest.Bench) {
		span := b.Spans(func(uint64) bool { return true })[0]
		b.PutU64(span+b.Offset("runtime.mspan", "npages"), 1<<27)
	}, "is damaged"},
	{"large pointer-free span of half a terabyte that agrees with itself", func(b *imagetest.Bench) {
		class, elems := b.Offset("runtime.mspan", "spanclass"), b.Offset("runtime.mspan", "nelems")
		span := b.Spans(func(s uint64) bool { return b.U64(s+class)&1 != 0 && b.U64(s+elems)&0xffff == 1 })[0]
		b.PutU64(span+b.Offset("runtime.mspan", "startAddr"), 1<<46)
		b.PutU64(span+b.Offset("runtime.mspan", "npages"), 1<<26)
		b.PutU64(span+b.Offset("runtime.mspan", "elemsize"), 1<<39)
		b.PutU32(span+b.Offset("runtime.mspan", "divMul"), 0)
	}, "cannot be read"},
	{"one span twice", func(b *imagetest.Bench) {
		list := b.U64(b.Variable("runtime.mheap_") + b.Offset("runtime.mheap", "allspans"))
		all := b.Spans(func(uint64) bool { return true })
		for i := range uint64(1000) {
			if b.U64(list+8*i) == all[1] {
				b.PutU64(list+8*i, all[0])
			}
		}
	}, "two spans overlap"},
	{"objects of no size", func(b *imagetest.Bench) {
		b.PutU64(b.Spans(func(uint64) bool { return true })[0]+b.Offset("runtime.mspan", "elemsize"), 0)
	}, "is damaged"},
	{"more objects than fit", func(b *imagetest.Bench) {
		at := b.Spans(func(uint64) bool { return true })[0] + b.Offset("runtime.mspan", "nelems")
		b.PutU64(at, b.U64(at)|0xffff)
	}, "is damaged"},
	{"mark bits nowhere", func(b *imagetest.Bench) {
		b.PutU64(b.Spans(func(uint64) bool { return true })[0]+b.Offset("runtime.mspan", "allocBits"), nowhere)
	}, "not readable"},
}

var damagedLists = []damage{
	{"specials in a circle", func(b *imagetest.Bench) {
		for _, span := range withSpecials(b) {
			first := b.U64(span + b.Offset("runtime.mspan", "specials"))
			b.PutU64(first+b.Offset("runtime.special", "next"), first)
		}
	}, "a list of specials does not end"},
	{"specials in a circle through other spans", func(b *imagetest.Bench) {
		spans := withSpecials(b)
		at := b.Offset("runtime.mspan", "specials")
		for i, span := range spans {
			last := b.U64(span + at)
			for b.U64(last+b.Offset("runtime.special", "next")) != 0 {
				last = b.U64(last + b.Offset("runtime.special", "next"))
			}
			b.PutU64(last+b.Offset("runtime.special", "next"), b.U64(spans[(i+1)%len(spans)]+at))
		}
	}, "special"},
	{"specials nowhere", func(b *imagetest.Bench) {
		b.PutU64(withSpecials(b)[0]+b.Offset("runtime.mspan", "specials"), nowhere)
	}, "a list of specials"},
	{"specials of the last span nowhere", func(b *imagetest.Bench) {
		last, base := uint64(0), uint64(0)
		for _, span := range withSpecials(b) {
			if at := b.U64(span + b.Offset("runtime.mspan", "startAddr")); at > base {
				last, base = span, at
			}
		}
		b.PutU64(last+b.Offset("runtime.mspan", "specials"), nowhere)
	}, "a list of specials"},
	{"a special beyond its span", func(b *imagetest.Bench) {
		for _, span := range withSpecials(b) {
			b.PutU64(b.U64(span+b.Offset("runtime.mspan", "specials"))+b.Offset("runtime.special", "offset"), 1<<31)
		}
	}, "a special points outside of its span"},
	{"queued finalizers in a circle", func(b *imagetest.Bench) {
		block := b.U64(b.Variable("runtime.allfin"))
		require.NotZero(b.TB, block)
		b.PutU64(block+b.Offset("runtime.finBlock", "alllink"), block)
	}, "the queue of finalizers"},
	{"absurd number of queued finalizers", func(b *imagetest.Bench) {
		b.PutU32(b.U64(b.Variable("runtime.allfin"))+b.Offset("runtime.finBlock", "cnt"), 1<<31)
	}, "the queue of finalizers"},
	{"queued cleanups in a circle", func(b *imagetest.Bench) {
		block := b.U64(b.Variable("runtime.gcCleanups") + b.Offset("runtime.cleanupQueue", "all"))
		require.NotZero(b.TB, block)
		b.PutU64(block+b.Offset("runtime.cleanupBlock", "cleanupBlockHeader.alllink"), block)
	}, "the queue of cleanups"},
}

var damagedTypes = []damage{
	{"a mask on demand that contains itself", func(b *imagetest.Bench) {
		maskOnDemand(b)
		// The last field is an array; its element type becomes main.masked itself.
		array := lastFieldType(b, b.Type("main.masked"))
		b.PutU64(array+48, b.Type("main.masked"))
	}, "does not end"},
	{"an array of itself", func(b *imagetest.Bench) {
		maskOnDemand(b)
		array := lastFieldType(b, b.Type("main.masked"))
		b.PutU64(array+48, array)
	}, "does not end"},
	{"absurd number of fields", func(b *imagetest.Bench) {
		maskOnDemand(b)
		b.PutU64(b.Type("main.masked")+64, 1<<60)
	}, "fields"},
	{"a type of a terabyte", func(b *imagetest.Bench) {
		maskOnDemand(b)
		b.PutU64(b.Type("main.masked"), 1<<45)
		b.PutU64(b.Type("main.masked")+8, 1<<45)
	}, "larger than the object"},
	{"a type without a mask", func(b *imagetest.Bench) {
		b.PutU64(b.Type("main.wide")+32, nowhere)
	}, "not readable"},
}

// withSpecials returns the addresses of the records of spans whose objects have specials.
func withSpecials(b *imagetest.Bench) []uint64 {
	specials := b.Offset("runtime.mspan", "specials")
	return b.Spans(func(span uint64) bool { return b.U64(span+specials) != 0 })
}

// maskOnDemand makes a reader build the pointer mask of main.masked anew.
func maskOnDemand(b *imagetest.Bench) {
	b.TB.Helper()
	t := b.Type("main.masked")
	require.NotZero(b.TB, b.U64(t+16)>>32&(1<<4), "the flag for masks on demand")
	b.PutU64(b.U64(t+32), 0)
}

// lastFieldType returns the type of the last field of a struct type.
func lastFieldType(b *imagetest.Bench, t uint64) uint64 {
	fields, n := b.U64(t+56), b.U64(t+64)
	return b.U64(fields + 24*(n-1) + 8)
}
