package finding_test

import (
	"fmt"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// with gives a snapshot a ledger.
func with(m *finding.Snapshot, items ...ledger.Item) *finding.Snapshot {
	m.Ledger = &ledger.Ledger{Items: items}
	return m
}

// sized is one resource of a size, under the same name at all levels.
func sized(k ledger.Kind, name string, size int64) ledger.Item {
	return ledger.Item{Kind: k, Names: [ledger.Levels]string{name, name, name}, Size: size}
}

// items are n resources of one name each.
func items(n int64, k ledger.Kind, names ...string) (all []ledger.Item) {
	for i := range n {
		it := ledger.Item{Kind: k, Size: 1, State: "ESTABLISHED", Number: int(i)}
		copy(it.Names[:], names)
		all = append(all, it)
	}
	return all
}

func sockets(n int64) []ledger.Item {
	return items(n, ledger.Descriptor, "socket to 127.0.0.1:5432", "sockets to 127.0.0.1", "sockets")
}

// held is over for resources alone.
func held(figures []int64, make func(n int64) []ledger.Item) *finding.Finder {
	return over(figures, func(n int64) *finding.Snapshot { return with(snapshot(), make(n)...) })
}

// Each kind of resource has to show another growth.
func TestResources(t *testing.T) {
	one := func(k ledger.Kind) func(int64) []ledger.Item {
		return func(n int64) []ledger.Item { return []ledger.Item{sized(k, "it", n)} }
	}
	const k = 1 << 10
	for _, tt := range []struct {
		name    string
		figures []int64
		make    func(n int64) []ledger.Item
		want    string
	}{
		{"each call", []int64{3, 13, 33, 73, 153}, sockets, "resource, descriptor socket to 127.0.0.1:5432"},
		{"a pool that fills", []int64{3, 8, 10, 10, 10}, sockets, ""},
		{"fewer", []int64{9, 8, 7, 6, 5}, sockets, ""},
		{"other ports", []int64{3, 13, 33, 73, 153}, func(n int64) (all []ledger.Item) {
			for i := range n {
				all = append(all, items(1, ledger.Descriptor, fmt.Sprint("socket to 127.0.0.1:", i), "sockets to 127.0.0.1", "sockets")...)
			}
			return all
		}, "resource, descriptor sockets to 127.0.0.1"},
		{"processes", usual, one(ledger.Process), "resource, process it"},
		{"threads", usual, one(ledger.Thread), "resource, thread it"},
		{"few threads", []int64{8, 9, 10, 12, 15}, one(ledger.Thread), ""},
		{"files that others make", []int64{5, 15, 34, 75, 155}, one(ledger.File), ""},
		{"files", usual, one(ledger.File), "resource, file it"},
		{"mappings", []int64{0, 40 * k, 120 * k, 280 * k, 600 * k}, one(ledger.Mapping), "resource, mapping it"},
		{"small mappings", []int64{0, 4 * k, 12 * k, 28 * k, 60 * k}, one(ledger.Mapping), ""},
		{"a mapping that grows once", []int64{0, 1 << 26, 1 << 26, 1 << 26, 1 << 26}, one(ledger.Mapping), ""},
		{"stacks", []int64{0, 40 * k, 120 * k, 280 * k, 600 * k}, one(ledger.Stack), "resource, stack it"},
		{"small stacks", []int64{0, 4 * k, 12 * k, 28 * k, 60 * k}, one(ledger.Stack), ""},
		{"variables", usual, one(ledger.Variable), "resource, variable it"},
		{"two that grow in step", usual, func(n int64) []ledger.Item {
			return append(sockets(n), sized(ledger.Process, "sleep", 2*n))
		}, "resource, process sleep, descriptor socket to 127.0.0.1:5432"},
		{"two that do not", usual, func(n int64) []ledger.Item {
			return append(sockets(n), sized(ledger.Process, "sleep", 7*n))
		}, "resource, process sleep; resource, descriptor socket to 127.0.0.1:5432"},
	} {
		f := held(tt.figures, tt.make)
		g := f.Growth()
		assert.Equal(t, tt.want, describe(g.Leaks...), tt.name)
		for _, l := range g.Leaks {
			s := f.SeriesOf(l)
			assert.Equal(t, l.Resources[0].Own, s, tt.name)
			assert.Equal(t, s.PerCall(), l.PerCall(), tt.name)
			assert.Equal(t, l.Resources[0].Kind == ledger.Mapping, l.Resources[0].IsOfC(), tt.name)
			assert.Equal(t, l.Resources[0].Kind.InBytes(), l.Resources[0].Amount() == 0, tt.name)
			assert.Nil(t, l.Container(), tt.name)
		}
	}
	f := held(usual, sockets)
	assert.Equal(t, "ESTABLISHED", f.Resources()[0].State)
	f.First().Ledger = nil
	assert.Empty(t, f.Resources(), "not known at each snapshot")
	s := f.ResourceSeries(&finding.Resource{Kind: ledger.Descriptor, Name: "socket to 127.0.0.1:5432"})
	assert.Equal(t, []int64{0, 20, 40, 80, 160}, s.Values)
	assert.Empty(t, over(usual, func(n int64) *finding.Snapshot { return with(snapshot(), sockets(n)...) }, "socket to 127.0.0.1:*").Growth().Leaks, "ignored")
}

// Where other memory comes and goes between snapshots, what calls map tells.
func TestMapping(t *testing.T) {
	const k = 1 << 10
	at := func(all, mapped []int64) *finding.Finder {
		i := -1
		return over(usual, func(int64) *finding.Snapshot {
			i++
			m := with(snapshot(), sized(ledger.Mapping, ledger.Anonymous, all[i]))
			m.Mapped = mapped[i]
			return m
		})
	}
	leak := []int64{0, 40 * k, 120 * k, 280 * k, 600 * k}
	none := []int64{0, 0, 0, 0, 0}
	assert.Nil(t, at(leak, none).Mapping())
	assert.Equal(t, leak, at(none, leak).Mapping().Own.Values)
	for _, tt := range []struct {
		name        string
		all, mapped []int64
		want        int64 // what is said to have grown; 0: nothing
	}{
		{"all snapshots show it", leak, none, 600 * k},
		{"something went in one batch", []int64{8192 * k, 40 * k, 120 * k, 280 * k, 600 * k}, leak, 600 * k},
		{"it is not there in the end", []int64{0, 40 * k, 20 * k, 30 * k, 40 * k}, leak, 0},
		{"most is there in the end", []int64{0, 90 * k, 80 * k, 300 * k, 500 * k}, leak, 600 * k},
	} {
		got := int64(0)
		for _, r := range at(tt.all, tt.mapped).Resources() {
			got = r.Own.Grown()
		}
		assert.Equal(t, tt.want, got, tt.name)
	}
}

// native gives a snapshot the blocks of C code.
func native(threads int, mapped int64, sizes map[int64]int64) *finding.Snapshot {
	h := &nativeheap.Heap{Sizes: sizes, Threads: threads, Mapped: mapped, MappedBytes: 200_000 * mapped, Blocks: mapped, Bytes: 200_000 * mapped}
	for size, n := range sizes {
		h.Blocks, h.Bytes = h.Blocks+n, h.Bytes+size*n
	}
	m := with(snapshot())
	m.Ledger.AddNative(h)
	m.Native = h
	return m
}

// Blocks of C code are one resource, whatever their sizes.
func TestNativeGrowth(t *testing.T) {
	for _, tt := range []struct {
		name    string
		figures []int64
		make    func(n int64) *finding.Snapshot
		grown   int64 // blocks
		bytes   int64
		sizes   []finding.BlockSize
	}{
		{"sizes", usual, func(n int64) *finding.Snapshot { return native(1, 0, map[int64]int64{32: n, 1024: 2 * n, 48: 7}) }, 450, 150 * (32 + 2048), []finding.BlockSize{{1024, 300}, {32, 150}}},
		{"blocks that are mapped", usual, func(n int64) *finding.Snapshot { return native(1, n, map[int64]int64{32: 5}) }, 150, 150 * 200_000, []finding.BlockSize{{200_000, 150}}},
		{"some are one step larger", []int64{0, 10, 30, 70, 150}, func(n int64) *finding.Snapshot { return native(1, 0, map[int64]int64{32: n - n/20, 48: n / 20}) }, 150, 143*32 + 7*48, []finding.BlockSize{{32, 150}}},
		{"all sizes together", []int64{0, 10, 30, 70, 150}, func(n int64) *finding.Snapshot {
			sizes := make(map[int64]int64)
			for i := range n {
				sizes[32+16*i] = 1
			}
			return native(1, 0, sizes)
		}, 150, 150*32 + 16*149*75, nil},
		{"for threads", usual, func(n int64) *finding.Snapshot { return native(int(n), 0, map[int64]int64{32: n / 2}) }, 0, 0, nil},
		{"it comes to few", []int64{0, 0, 1, 2, 4}, func(n int64) *finding.Snapshot { return native(1, 0, map[int64]int64{32: n}) }, 0, 0, nil},
	} {
		f := over(tt.figures, tt.make)
		all := f.Resources()
		if tt.grown == 0 {
			assert.Empty(t, all, tt.name)
			continue
		}
		if !assert.Len(t, all, 1, tt.name) {
			continue
		}
		r := all[0]
		assert.True(t, r.Kind.OfMalloc(), tt.name)
		assert.Equal(t, tt.grown, r.Own.Grown(), tt.name)
		assert.Equal(t, tt.bytes, r.Native.Bytes, tt.name)
		if tt.sizes != nil {
			assert.Equal(t, tt.sizes, r.Native.Sizes, tt.name)
		}
		assert.True(t, r.IsOfC(), tt.name)
		s := f.ResourceSeries(r)
		assert.Equal(t, r.Own, s, tt.name)
	}
	f := over(usual, func(n int64) *finding.Snapshot { return native(1, 0, map[int64]int64{32: n}) })
	f.First().Native = nil
	assert.Empty(t, f.Resources(), "not known at each snapshot")

	// The mapping is malloc's own.
	f = over(usual, func(n int64) *finding.Snapshot {
		m := native(1, n, nil)
		m.Ledger.Items = append(m.Ledger.Items, sized(ledger.Mapping, ledger.Anonymous, 210_000*n))
		return m
	})
	assert.Equal(t, "resource, native native blocks", describe(f.Growth().Leaks...))
}

// A resource comes with the objects that stand for it, with goroutines, or with what is in step.
func TestAttach(t *testing.T) {
	files := func(n int64) *refscan.Node {
		return global(node("example.com/app.files", "[]*os.File", 1, 8, node("[10+]", "*os.File", n, 8*n, node("file", "*os.file", n, 96*n))), "", 0)
	}
	piled := func(n int64, roots ...*refscan.Node) *finding.Snapshot {
		m := snapshot(roots...)
		m.Goroutines[goroutine.Origin{Entry: "example.com/app.work", CreatedAt: "/src/app/new.go:3"}] = stuck(n, "select", "example.com/app.work")
		return m
	}
	mapper := func(n int64) *refscan.Node {
		return global(withElems(node("syscall.mapper", "struct {}", 1, 8, node("active", "map[*uint8][]uint8", n, 48*n)), n), "", 0)
	}
	const k4 = 4 << 10
	for _, tt := range []struct {
		name    string
		make    func(n int64) *finding.Snapshot
		ignores []string
		want    string
	}{
		{"files", func(n int64) *finding.Snapshot { return with(snapshot(files(n)), sockets(n)...) }, nil, "app.files[*] objects, descriptor socket to 127.0.0.1:5432"},
		{"files that an Ignore names", func(n int64) *finding.Snapshot { return with(snapshot(files(n)), sockets(n)...) }, []string{"app.files"}, ""},
		{"more than the ignored files", func(n int64) *finding.Snapshot { return with(snapshot(files(n)), sockets(2*n)...) }, []string{"app.files"}, "resource, descriptor socket to 127.0.0.1:5432"},
		{"a number for each", func(n int64) *finding.Snapshot {
			return with(snapshot(global(node("example.com/app.numbers", "[]int", 1, 8*n), "", 0)), sockets(n)...)
		}, nil, "app.numbers bytes, descriptor socket to 127.0.0.1:5432"},
		{"goroutines, with a stack each", func(n int64) *finding.Snapshot {
			return with(piled(n), append(sockets(n), sized(ledger.Stack, "stacks", 8*k4*n), sized(ledger.Thread, "threads", n*4/3))...)
		}, nil, "goroutines app.work, descriptor socket to 127.0.0.1:5432, thread threads"},
		{"at another rate", func(n int64) *finding.Snapshot { return with(snapshot(sessions(n)), sockets(7*n)...) }, nil, "resource, descriptor socket to 127.0.0.1:5432; app.sessions[*] objects"},
		{"mapped memory, and its record", func(n int64) *finding.Snapshot {
			return with(snapshot(sessions(n), mapper(n)), sized(ledger.Mapping, "a file", k4*n))
		}, nil, "app.sessions[*] objects, mapping a file (syscall.mapper.active objects)"},
		{"a process, and its descriptor", func(n int64) *finding.Snapshot {
			root := global(node("example.com/app.cmds", "[]*os.Process", 1, 8, node("[10+]", "*os.Process", n, 64*n)), "", 0)
			return with(snapshot(root), append(items(n, ledger.Descriptor, "pidfd", "pidfd", "pidfd"), sized(ledger.Process, "sleep", n))...)
		}, nil, "app.cmds[*] objects, process sleep, descriptor pidfd"},
	} {
		f := over(usual, tt.make, tt.ignores...)
		leaks := f.Growth().Leaks
		assert.Equal(t, tt.want, describe(leaks...), tt.name)
	}
	l := over(usual, func(n int64) *finding.Snapshot { return with(snapshot(files(n)), sockets(n)...) }).Growth().Leaks[0]
	assert.Equal(t, "example.com/app.files[*].file", l.Resources[0].Holder.Path)

	// Go objects that hold most of the native blocks.
	blocks := func(n int64) *finding.Snapshot {
		m := native(1, 0, map[int64]int64{32: 7 * n})
		f := snapshot(global(node("example.com/app.handles", "[]*example.com/app.handle", 1, 8, node("[10+]", "*example.com/app.handle", n, 8*n)), "", 0), sessions(n))
		m.Forest = f.Forest
		return m
	}
	f := over(usual, blocks)
	assert.Equal(t, "app.sessions[*] objects, native native blocks; app.handles[*] objects", describe(f.Growth().Leaks...), "a whole number for each")
	f.Holders = &finding.NativeHolders{Found: &nativeholders.Result{All: nativeholders.Sum{Blocks: 10}, Holders: []nativeholders.Holder{
		{Kind: nativeholders.Go, Name: "example.com/app.handles[*].c", Sum: nativeholders.Sum{Blocks: 6}},
	}}}
	assert.Equal(t, "app.sessions[*] objects; app.handles[*] objects, native native blocks", describe(f.Growth().Leaks...))
	f.Holders.Found.Holders[0].Blocks = 5
	assert.Equal(t, "app.sessions[*] objects, native native blocks; app.handles[*] objects", describe(f.Growth().Leaks...), "a half is not most")
}

// The numbers in objects tell whose descriptors they are. Otherwise the number of objects does.
func TestDescriptors(t *testing.T) {
	conns := func(name string, n int64) *refscan.Node {
		return global(node("example.com/app."+name, "*net.netFD", n, 96*n), "", 0)
	}
	f := over(usual, func(n int64) *finding.Snapshot { return with(snapshot(conns("a", n), conns("b", n)), sockets(n)...) })
	found := f.WithDescriptors()
	assert.Len(t, found, 2)
	holder := func() string { return f.Growth().Leaks[0].Resources[0].Holder.Path }
	assert.Equal(t, "example.com/app.a", holder(), "the first")
	keys := make(map[string]tree.GrowthKey)
	for _, b := range found {
		keys[b.Path] = b.GrowthKey()
	}
	numbers := func(n int) (all []int) {
		for i := range n {
			all = append(all, i)
		}
		return all
	}
	with := func(a, b int) {
		f.Descriptors = map[tree.GrowthKey][]int{keys["example.com/app.a"]: numbers(a), keys["example.com/app.b"]: numbers(b)}
	}
	with(10, 160)
	leaks := f.Growth().Leaks
	for _, l := range leaks {
		assert.Equal(t, l.Heads[0].Path == "example.com/app.b", len(l.Resources) == 1, describe(leaks...))
	}
	with(10, 74) // less than half of 150
	for _, l := range f.Growth().Leaks {
		for _, r := range l.Resources {
			assert.Nil(t, r.Holder)
		}
	}
}
