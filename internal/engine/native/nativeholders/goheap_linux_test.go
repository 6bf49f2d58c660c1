package nativeholders

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A process is the recorded program with memory of C beside it.
type process struct {
	*imagetest.Program
	c memory
}

func (p *process) Copy(ranges []image.Range) ([][]byte, error) {
	out, err := p.Program.Copy(ranges)
	if err != nil {
		return nil, err
	}
	of, err := p.c.Copy(ranges)
	for i, b := range of {
		if b != nil {
			out[i] = b
		}
	}
	return out, err
}

// inProgram is a search in the recorded program.
func inProgram(t *testing.T, n int) (*finder, *process) {
	t.Helper()
	p := &process{Program: imagetest.Record(t)}
	m, err := p.Load(p)
	require.NoError(t, err)
	f, c := searching(n)
	p.c = *c
	f.heap, err = typedheap.Build(m, p.Index, typedheap.Options{})
	require.NoError(t, err)
	f.mem, f.globals, f.program = m.Mem, p.Index.Globals(), root.Program{}
	return f, p
}

// objectsAt returns the addresses of what is charged to a path, and how long each is.
func objectsAt(f *finder, path string, kind attribute.Kind) (all []image.Range) {
	paths := make(attribute.Paths)
	attribute.Run(f.heap, f.program, attribute.Options{Watch: &attribute.Watcher{Charge: func(n *attribute.Node, c attribute.Claim) {
		if c.Kind == kind && paths.Of(n) == path {
			s := f.heap.Model.SpanOf(c.Obj)
			all = append(all, image.Range{Addr: s.Addr(c.Obj) + uint64(c.Off), Len: uint64(c.Bytes)})
		}
	}}})
	return all
}

// A named is an address with its path.
type named struct {
	path string
	addr uint64
}

// untypedNumbers returns the paths and addresses of objects without pointers whose type is not
// known.
func untypedNumbers(f *finder) (all []named) {
	paths := make(attribute.Paths)
	attribute.Run(f.heap, f.program, attribute.Options{Watch: &attribute.Watcher{Charge: func(n *attribute.Node, c attribute.Claim) {
		if c.Kind != attribute.KindObject || c.Obj >= f.heap.AnonymousBase() || f.heap.Typings.Of(c.Obj).Layout != heaptype.LayoutNone {
			return
		}
		if s := f.heap.Model.SpanOf(c.Obj); s.NoScan {
			all = append(all, named{paths.Of(n), s.Addr(c.Obj)})
		}
	}}})
	return all
}

// find returns the address of a word with a value in one of several ranges.
func (p *process) find(t *testing.T, ranges []image.Range, word uint64) uint64 {
	t.Helper()
	for _, r := range ranges {
		for at := r.Addr; at+8 <= r.End(); at += 8 {
			if p.U64(at) == word {
				return at
			}
		}
	}
	require.Fail(t, "no such word")
	return 0
}

// variable is the address of a package variable of the recorded program.
func (p *process) variable(t *testing.T, name string) uint64 {
	t.Helper()
	g, ok := p.Index.GlobalByName(name)
	require.True(t, ok, name)
	return g.Addr
}

// holders returns the names of the holders of the blocks, "" for those that are lost.
func (f *finder) holders() []string {
	names := make([]string, len(f.owner))
	paths := make(attribute.Paths)
	for i, owner := range f.owner {
		if owner > 0 {
			names[i] = f.places[owner-1].name(paths)
		}
	}
	return names
}

// Objects of Go hold the blocks that their words lead to, under the names of these words.
func TestObjects(t *testing.T) {
	const n = 20
	f, p := inProgram(t, n)
	want := make([]string, n)
	at := 0
	lead := func(name string, from, off uint64) {
		p.PutU64(from, blockAt(at)+off)
		p.c.put(from, blockAt(at)+off)
		want[at] = name
		at++
	}
	wide := objectsAt(f, "main.wides[*]", attribute.KindObject)[0]
	nodes := p.find(t, []image.Range{{Addr: wide.Addr, Len: 90 * 8}}, 0)
	lead("main.wides[*].nodes[*]", nodes, 16)
	lead("main.wides[*].any[*]", wide.Addr+90*8+19*16+8, 8)
	chain := objectsAt(f, "main.chain", attribute.KindObject)
	lead("main.chain.next", p.find(t, chain, 0), 8)
	bulk := objectsAt(f, "main.bulk", attribute.KindObject)[0]
	lead("", bulk.Addr+800, 0) // in an array of bytes
	small := objectsAt(f, "main.shapes[*]", attribute.KindTiny)
	lead("main.shapes[*]", small[0].Addr, 0)
	lead("", small[1].Addr, 8) // a number that is no block's address
	numbers := objectsAt(f, "main.numbers", attribute.KindPart)
	slices.SortFunc(numbers, func(a, b image.Range) int { return cmp.Compare(b.Len, a.Len) }) // the entries first
	lead("main.numbers[*]", p.find(t, numbers, 0), 0)
	lead("", p.find(t, numbers, 0), 8)
	value := objectsAt(f, "main.large[*]", attribute.KindObject)[0]
	lead("main.large[*]", p.find(t, objectsAt(f, "main.large", attribute.KindPart), value.Addr), 8)
	closure := objectsAt(f, "main.funcs[*]", attribute.KindObject)[0]
	lead("main.funcs[*].n", closure.Addr+8, 8)
	buffer := objectsAt(f, "main.channel", attribute.KindPart)
	lead("main.channel[*]", p.find(t, buffer, 0), 0)
	lead("main.wides[*].nodes[*]", blockAt(0)+8, 8) // what a block leads to

	// Of objects without pointers whose type is not known, the words are numbers.
	if numbers := untypedNumbers(f); len(numbers) > 0 {
		lead(numbers[0].path, numbers[0].addr, 0)
		lead("", numbers[0].addr+8, 8)
	}

	require.NoError(t, f.objects())
	require.NoError(t, f.spread())
	assert.Equal(t, want, f.holders())
}

// beside is memory beside the recorded program, in which tests put words of C.
const beside = 0x610000000000

// lay puts the addresses of blocks beside the program, one at each of some pages.
func (p *process) lay(blocks ...int) {
	data := make([]byte, len(blocks)*int(page))
	p.c.pieces = append(p.c.pieces, image.Piece{Addr: beside, Data: data})
	for i, b := range blocks {
		p.c.put(beside+uint64(i)*page, blockAt(b))
	}
}

// wordOnStack is the address of a word that is zero in a frame of a function.
func (p *process) wordOnStack(t *testing.T, f *finder, function string) uint64 {
	t.Helper()
	for _, s := range f.heap.Live.Stacks {
		var in image.Range
		_ = f.heap.Model.Frames(s.Goroutine, func(fr *goruntime.Frame) error {
			if fr.Func.Name == function && in.Len == 0 {
				in = image.Range{Addr: fr.SP, Len: fr.FP - fr.SP}
			}
			return nil
		})
		if in.Len > 0 {
			return p.find(t, []image.Range{in}, 0)
		}
	}
	require.Fail(t, "no goroutine is in "+function)
	return 0
}

// follows follows all references, and returns the place of each block: its kind, name and file.
func follows(t *testing.T, f *finder) (all []string) {
	t.Helper()
	require.NoError(t, f.follow(Mapping))
	for i, name := range f.holders() {
		if owner := f.owner[i]; owner > 0 {
			at := f.places[owner-1]
			name = strings.TrimSpace(fmt.Sprint(at.Kind, " ", name, " ", at.File))
		}
		all = append(all, name)
	}
	return all
}

// A block belongs to the first kind of holder that leads to it: Go's objects and variables, then
// C's variables, stacks, threads, and other memory.
func TestFollow(t *testing.T) {
	const app, zlib = "/bin/app", "/lib/libz.so.1"
	f, p := inProgram(t, 16)
	unnamed := uint64(0)
	for at := f.heap.Model.Modules[0].BSS; unnamed == 0; at += 8 {
		if f.global(at) == nil {
			unnamed = at
		}
	}
	words := map[uint64]uint64{
		p.variable(t, "main.bulk") + 16:                                    blockAt(0) + 8,
		p.variable(t, "runtime.physPageSize"):                              blockAt(1),
		p.variable(t, "runtime.minOffAddr"):                                blockAt(2) + 8, // no address of a block
		p.wordOnStack(t, f, "main.local"):                                  blockAt(3) + 8,
		p.wordOnStack(t, f, "main.start.func3"):                            blockAt(0), // of a variable already
		p.variable(t, "os.Args") + 16:                                      blockAt(4),
		unnamed:                                                            blockAt(5) + 8,
		objectsAt(f, "main.wides[*]", attribute.KindObject)[0].Addr + 8*89: blockAt(11),
	}
	for at, word := range words {
		p.PutU64(at, word)
	}
	p.lay(6, 7, 8, 9, 10, 11, 12)
	p.c.put(beside+8, blockAt(0))        // a C variable and one of Go
	p.c.put(beside+16, blockAt(3))       // a C variable and a stack
	p.c.put(beside+3*page+8, blockAt(8)) // a thread and a C variable without a name
	p.c.put(beside+4*page+8, blockAt(9)) // a mapping and a thread
	p.c.put(blockAt(6), blockAt(13))
	p.c.put(blockAt(13), blockAt(14))
	f.globals = append(f.globals, debuginfo.Global{Name: "cache_head", Addr: beside, Size: 8})
	f.files[app] = &library{}
	f.files[zlib] = &library{bias: beside, variables: []objfile.Symbol{{Name: "state", Addr: page, Size: 8}}}
	pageAt := func(i int) image.Range { return image.Range{Addr: beside + uint64(i)*page, Len: page} }
	f.memory = []stretch{
		{pageAt(0), app, false},
		{pageAt(1), zlib, false},
		{pageAt(2), zlib, false},
		{pageAt(3), "", true},
		{pageAt(4), "", false},
		{pageAt(5), "", false},
		{image.Range{Addr: unnamed, Len: 8}, app, false},
	}
	for _, name := range []string{"main.bulk", "runtime.physPageSize", "runtime.minOffAddr", "os.Args"} {
		g, _ := p.Index.GlobalByName(name)
		f.memory = append(f.memory, stretch{image.Range{Addr: g.Addr, Len: uint64(g.Size)}, app, false})
	}
	f.program.IsTool = func(pkg string) bool { return pkg == "os" }
	f.native.Own = []nativeheap.Block{{Addr: cHeap, Size: 64}}
	assert.Equal(t, []string{
		"0 main.bulk", "0 runtime.physPageSize", "", "1  app", "", "0 " + symbol.UnnamedData, "1 cache_head app", "1 state libz.so.1", "1  libz.so.1",
		"3", "4", "0 main.wides[*].nodes[*]", "", "1 cache_head app", "1 cache_head app", "",
	}, follows(t, f))
}

func TestFrames(t *testing.T) {
	f, p := inProgram(t, 3)
	p.PutU64(p.wordOnStack(t, f, "main.local"), blockAt(0)+8)
	p.PutU64(p.wordOnStack(t, f, "main.start.func3"), blockAt(1))
	assert.Equal(t, []string{"2 main.local", "2 main.start.func3", ""}, follows(t, f))

	// A word belongs to the frame whose stack pointer it is at.
	f, p = inProgram(t, 1)
	caller, sp, local := "", uint64(0), uint64(0)
	for _, s := range f.heap.Live.Stacks {
		_ = f.heap.Model.Frames(s.Goroutine, func(fr *goruntime.Frame) error {
			switch {
			case fr.Func.Name == "main.local":
				local = fr.FP
			case fr.SP == local && local != 0:
				caller, sp = fr.Func.Name, fr.SP
			}
			return nil
		})
	}
	p.PutU64(sp, blockAt(0))
	assert.Equal(t, []string{"2 " + caller}, follows(t, f))

	f, p = inProgram(t, 1)
	f.program.IsTool = func(pkg string) bool { return pkg == "main" }
	p.PutU64(p.wordOnStack(t, f, "main.local"), blockAt(0))
	assert.Equal(t, []string{""}, follows(t, f), "frames of the tool do not count")
}

// A cut frees the blocks that only what is cut leads to: the objects that it would free, or places
// whose words it would clear.
func TestFreed(t *testing.T) {
	const app = "/bin/app"
	f, p := inProgram(t, 8)
	wide := objectsAt(f, "main.wides[*]", attribute.KindObject)[0]
	for i, at := range []uint64{wide.Addr + 8*80, wide.Addr + 8*81, p.variable(t, "main.bulk") + 16, p.variable(t, "main.halves") + 16, p.wordOnStack(t, f, "main.local")} {
		p.PutU64(at, blockAt(i)+8)
	}
	p.PutU64(p.find(t, objectsAt(f, "main.chain", attribute.KindObject), 0), blockAt(1)) // something else leads there, too
	p.PutU64(wide.Addr+8*82, blockAt(7))
	p.PutU64(p.wordOnStack(t, f, "main.start.func3"), blockAt(7)) // and a stack
	p.c.put(blockAt(0), blockAt(5))
	p.c.put(blockAt(0)+8, blockAt(1))
	p.c.put(blockAt(4), blockAt(6))
	f.files[app] = &library{}
	for _, name := range []string{"main.bulk", "main.halves"} {
		f.memory = append(f.memory, stretch{image.Range{Addr: p.variable(t, name), Len: 24}, app, false})
	}
	freed := func(c Cut, unread uint64) (Sum, error) {
		f.owner, f.queue, f.places, f.known, f.cut, f.unread = make([]int32, 8), nil, nil, make(map[Place]int32), nil, unread
		return f.freed(&c)
	}
	noNode := func(*attribute.Node, string) bool { return false }
	noPlace := func(*Place, string) bool { return false }
	wides := func(_ *attribute.Node, path string) bool { return path == "main.wides" }
	bulk := func(p *Place, path string) bool { return p.Kind == Go && path == "main.bulk" }
	for _, tt := range []struct {
		name string
		cut  Cut
		want int64 // blocks
	}{
		{"nothing", Cut{Node: noNode, Place: noPlace}, 0},
		{"objects", Cut{Node: wides, Place: noPlace}, 2},
		{"a variable", Cut{Node: noNode, Place: bulk}, 1},
		{"both", Cut{Node: wides, Place: bulk}, 3},
	} {
		sum, err := freed(tt.cut, 0)
		require.NoError(t, err)
		assert.Equal(t, Sum{tt.want, 48 * tt.want}, sum, tt.name)
	}
	_, err := freed(Cut{Node: wides, Place: noPlace}, 4096)
	assert.ErrorIs(t, err, errUnread, "what was not read may hold the blocks, too")
	sum, err := freed(Cut{Node: noNode, Place: noPlace}, 4096)
	assert.NoError(t, err)
	assert.Zero(t, sum)
}

// What cannot be read ends a search.
func TestFollowFails(t *testing.T) {
	f, p := inProgram(t, 1)
	p.c.err = errors.New("the process is gone")
	assert.ErrorIs(t, f.follow(Mapping), p.c.err)
	f.plain = nil
	_, err := f.freed(&Cut{Node: func(*attribute.Node, string) bool { return false }, Place: func(*Place, string) bool { return false }})
	assert.ErrorIs(t, err, p.c.err)
}
