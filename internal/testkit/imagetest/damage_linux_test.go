package imagetest_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A verdict checks the outcome of a scan of a damaged image.
type verdict func(t *testing.T, sound *attribute.Result, o outcome, stacks error)

// stacksFail expects an error from the account of stacks that contains a text; the scan does not
// read the damaged part.
func stacksFail(text string) verdict {
	return func(t *testing.T, sound *attribute.Result, o outcome, stacks error) {
		harmless(t, sound, o, stacks)
		require.ErrorContains(t, stacks, text)
	}
}

// missed expects a report whose audit says that more objects are alive than were reached.
func missed(t *testing.T, sound *attribute.Result, o outcome, _ error) {
	require.NoError(t, o.err)
	require.Greater(t, o.res.Totals.MissedObjects, sound.Totals.MissedObjects)
}

// untyped expects a complete report with fewer typed bytes.
func untyped(t *testing.T, sound *attribute.Result, o outcome, stacks error) {
	harmless(t, sound, o, stacks)
	require.Less(t, o.res.Totals.TypedBytes, sound.Totals.TypedBytes)
}

// harmless expects a complete report: the damaged part does not decide which objects are alive.
func harmless(t *testing.T, sound *attribute.Result, o outcome, _ error) {
	require.NoError(t, o.err)
	require.Equal(t, sound.Totals.AttributedObjects, o.res.Totals.AttributedObjects)
	require.Equal(t, sound.Totals.MissedObjects, o.res.Totals.MissedObjects)
}

const nowhere = 0xdead_beef_0000

var damages = []struct {
	name   string
	damage func(b *imagetest.Bench)
	want   verdict
}{
	// Module data.
	{"data moved", func(b *imagetest.Bench) { b.PutU64(b.Module("bss"), b.U64(b.Module("bss"))+8) }, missed},

	// Function tables.
	{"names without end, and calls inlined into themselves", func(b *imagetest.Bench) {
		b.Fill("funcnametab", 'x')
		b.Fill("filetab", 'y')
		lo := b.U64(b.Module("gofunc"))
		b.Put(lo, make([]byte, b.U64(b.Module("epclntab"))-lo))
	}, missed},
	{"no stack maps", func(b *imagetest.Bench) {
		lo := b.U64(b.Module("gofunc"))
		b.Put(lo, make([]byte, b.U64(b.Module("epclntab"))-lo))
	}, missed},

	// Goroutines.
	{"waits in a circle", func(b *imagetest.Bench) {
		sg := b.U64(b.Goroutine("main.start.func2").Addr + b.Offset("runtime.g", "waiting"))
		require.NotZero(b.TB, sg)
		b.PutU64(sg+b.Offset("runtime.sudog", "waitlink"), sg)
	}, harmless},
	{"waits for a value of a type without end", func(b *imagetest.Bench) {
		sg := b.U64(b.Goroutine("main.start.func2").Addr + b.Offset("runtime.g", "waiting"))
		c := b.U64(sg + b.Offset("runtime.sudog", "c.maybeTraceablePtr.vu"))
		require.NotZero(b.TB, c)
		b.PutU64(c+b.Offset("runtime.hchan", "elemtype"), b.Type("main.masked"))
	}, harmless},
	{"threads in a circle", func(b *imagetest.Bench) {
		m := b.U64(b.Variable("runtime.allm"))
		b.PutU64(m+b.Offset("runtime.m", "alllink"), m)
	}, func(t *testing.T, _ *attribute.Result, o outcome, stacks error) {
		require.NoError(t, o.err)
		require.ErrorContains(t, stacks, "the list of threads does not end")
	}},
	{"free stacks in a circle", func(b *imagetest.Bench) {
		pool, ok := b.Index.GlobalByName("runtime.stackpool")
		require.True(b.TB, ok)
		elem := b.Index.Type(b.Index.Type(b.Index.Type(pool.Type).Elem).ID)
		n := 0
		for at := pool.Addr; at < pool.Addr+uint64(pool.Size); at += uint64(elem.Size) {
			for w := at; w < at+uint64(elem.Size); w += 8 {
				span := b.U64(w)
				if span == b.U64(w+8) && span != 0 || b.U64(span+b.Offset("runtime.mspan", "npages")) == 4 {
					b.PutU64(span+b.Offset("runtime.mspan", "next"), span)
					n++
				}
			}
		}
		require.Positive(b.TB, n)
	}, stacksFail("the list of spans does not end")},

	// Spans.
	{"everything marked", func(b *imagetest.Bench) {
		for _, span := range b.Spans(func(uint64) bool { return true }) {
			n := b.U64(span+b.Offset("runtime.mspan", "nelems")) & 0xffff
			b.Put(b.U64(span+b.Offset("runtime.mspan", "allocBits")), bytes.Repeat([]byte{0xff}, int(n/8)))
		}
	}, missed},
	{"a freed span still referred to", func(b *imagetest.Bench) {
		node := b.U64(b.Variable("main.chain"))
		for _, span := range b.Spans(func(span uint64) bool {
			base := b.U64(span + b.Offset("runtime.mspan", "startAddr"))
			return base <= node && node < base+b.U64(span+b.Offset("runtime.mspan", "npages"))<<13
		}) {
			b.PutU64(span+b.Offset("runtime.mspan", "state"), 0)
		}
	}, missed},
	{"a span whose objects are free but referred to", func(b *imagetest.Bench) {
		s, _ := b.Object(b.U64(b.Variable("main.chain")))
		for _, span := range b.Spans(func(span uint64) bool { return b.U64(span+b.Offset("runtime.mspan", "startAddr")) == s.Base }) {
			free := b.Offset("runtime.mspan", "freeindex")
			b.PutU64(span+free, b.U64(span+free)&^0xffff)
			b.Put(b.U64(span+b.Offset("runtime.mspan", "allocBits")), make([]byte, (s.NElems+7)/8))
		}
	}, missed},

	// Types.
	{"pointer types of themselves", func(b *imagetest.Bench) {
		for _, name := range []string{"*main.node", "*main.wide"} {
			b.PutU64(b.Type(name)+48, b.Type(name))
		}
	}, harmless},
	{"types named nowhere", func(b *imagetest.Bench) { b.PutU32(b.Type("main.wide")+40, 1<<31-1) }, harmless},
	{"no type is what debug information says", func(b *imagetest.Bench) {
		for id := 1; id <= b.Index.NumTypes(); id++ {
			if t := b.Index.Type(debuginfo.TypeID(id)); t.RuntimeAddr != 0 && strings.HasPrefix(t.Name, "main.") {
				b.PutU32(t.RuntimeAddr+16, ^t.RuntimeHash)
			}
		}
	}, untyped},
	{"interface tables that are their own type", func(b *imagetest.Bench) {
		shapes := b.U64(b.Variable("main.shapes"))
		for i := range uint64(2) {
			tab := b.U64(shapes + 16*i)
			b.PutU64(tab, tab)
			b.PutU64(tab+8, tab)
		}
	}, harmless},
	{"interface tables nowhere", func(b *imagetest.Bench) {
		shapes := b.U64(b.Variable("main.shapes"))
		for i := range uint64(10) {
			b.PutU64(shapes+16*i, nowhere)
		}
	}, harmless},
	{"interfaces of a type that is an object", func(b *imagetest.Bench) {
		list := b.U64(b.Variable("main.anything"))
		for i := range uint64(20) {
			b.PutU64(list+16*i, b.U64(b.Variable("main.chain")))
		}
	}, harmless},

	// Objects.
	{"garbage pointers", func(b *imagetest.Bench) {
		b.PutU64(b.Variable("main.chain"), b.Model.Spans[0].Base-8)
		b.PutU64(b.Variable("main.wides"), ^uint64(7))
		b.PutU64(b.Variable("main.large"), b.U64(b.Variable("main.large"))+1)
	}, missed},
	{"absurd slices and strings", func(b *imagetest.Bench) {
		for _, name := range []string{"main.wides", "main.shapes", "main.funcs", "main.anything", "main.pairs"} {
			b.PutU64(b.Variable(name)+8, 1<<62)
			b.PutU64(b.Variable(name)+16, 1<<62)
		}
		b.PutU64(b.U64(b.Variable("main.chain"))+16, 1<<63)
	}, harmless},
	{"a list in a circle", func(b *imagetest.Bench) {
		node := b.U64(b.Variable("main.chain"))
		b.PutU64(b.U64(node), node)
	}, missed},
	{"closures of no function", func(b *imagetest.Bench) {
		funcs := b.U64(b.Variable("main.funcs"))
		b.PutU64(b.U64(funcs), nowhere)
		b.PutU64(b.U64(funcs+8), b.Module("text"))
		b.PutU64(b.U64(funcs+16), b.U64(funcs+16))
	}, harmless},
	{"func values nowhere", func(b *imagetest.Bench) {
		funcs := b.U64(b.Variable("main.funcs"))
		b.PutU64(funcs, nowhere)
		b.PutU64(funcs+8, b.U64(b.Module("text")))
		b.PutU64(funcs+16, ^uint64(0))
	}, missed},
	{"a channel with an absurd buffer", func(b *imagetest.Bench) {
		b.PutU64(b.U64(b.Variable("main.channel"))+b.Offset("runtime.hchan", "dataqsiz"), 1<<62)
	}, harmless},
	{"a channel that is its own buffer", func(b *imagetest.Bench) {
		c := b.U64(b.Variable("main.channel"))
		b.PutU64(c+b.Offset("runtime.hchan", "buf"), c)
	}, func(t *testing.T, _ *attribute.Result, o outcome, _ error) { require.NoError(t, o.err) }},
	{"maps with absurd counts", func(b *imagetest.Bench) {
		used := b.Offset("internal/runtime/maps.Map", "used")
		for _, name := range []string{"main.small", "main.large", "main.numbers"} {
			b.PutU64(b.U64(b.Variable(name))+used, 1<<62)
		}
	}, func(t *testing.T, sound *attribute.Result, o outcome, stacks error) {
		harmless(t, sound, o, stacks)
		for _, root := range o.res.Roots {
			require.Less(t, root.Elems, int64(1000), root.Name)
			for _, c := range root.Children {
				require.Less(t, c.Objects, int64(1000), root.Name)
			}
		}
	}},
	{"a map with an absurd directory", func(b *imagetest.Bench) {
		b.PutU64(b.U64(b.Variable("main.large"))+b.Offset("internal/runtime/maps.Map", "dirLen"), 1<<62)
	}, harmless},
	{"a map whose directory is absurdly deep", func(b *imagetest.Bench) {
		m := b.U64(b.Variable("main.large"))
		depth := b.Offset("internal/runtime/maps.Map", "globalDepth")
		b.PutU64(m+depth, b.U64(m+depth)|0xffff)
	}, harmless},
	{"a map that is its own directory", func(b *imagetest.Bench) {
		m := b.U64(b.Variable("main.large"))
		b.PutU64(m+b.Offset("internal/runtime/maps.Map", "dirPtr"), m)
	}, missed},
	{"a map with absurd tables", func(b *imagetest.Bench) {
		m := b.U64(b.Variable("main.large"))
		dir, n := b.U64(m+b.Offset("internal/runtime/maps.Map", "dirPtr")), b.U64(m+b.Offset("internal/runtime/maps.Map", "dirLen"))
		require.Greater(b.TB, n, uint64(0))
		for i := range n {
			b.PutU64(b.U64(dir+8*i)+b.Offset("internal/runtime/maps.table", "groups.lengthMask"), ^uint64(0))
		}
	}, harmless},
	{"a concurrent map of circles", func(b *imagetest.Bench) {
		circles(b)
	}, missed},
}

const trieNode = "internal/sync.indirect[interface {},interface {}]"

// circles makes all inner nodes of main.shared their own children.
func circles(b *imagetest.Bench) {
	b.TB.Helper()
	children := b.Offset(trieNode, "children")
	n := 0
	v, ok := b.Index.GlobalByName("main.shared")
	require.True(b.TB, ok)
	for a := v.Addr; a < v.Addr+uint64(v.Size); a += 8 {
		node := b.U64(a)
		if s, _ := b.Model.Object(node); s == nil {
			continue
		}
		for i := range uint64(16) {
			b.PutU64(node+children+8*i, node)
		}
		n++
	}
	require.Positive(b.TB, n)
}

func TestDamage(t *testing.T) {
	s := record(t)
	sound := s.scan()
	require.NoError(t, sound.err)
	require.NoError(t, s.stacks())
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			d.damage(imagetest.NewBench(t))
			s.Copies = 0
			var o outcome
			var stacks error
			require.NoError(t, s.Bounded(func() {
				o = s.scan()
				stacks = s.stacks()
			}))
			t.Log(o.err, stacks)
			if o.res != nil {
				t.Logf("%+v", o.res.Totals)
			}
			d.want(t, sound.res, o, stacks)
		})
	}
	s.Mend()
	again := s.scan()
	require.NoError(t, again.err)
	require.Equal(t, sound.res.Totals, again.res.Totals, "all damage was mended")
}
