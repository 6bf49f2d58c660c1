//go:build (linux || windows || darwin) && (amd64 || arm64)

package inplace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/process/inplace"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A program is this one, with a plan of where its runtime keeps memory.
type program struct {
	index *debuginfo.Index
	bias  uint64
	plan  *inplace.Plan
}

func newProgram(t *testing.T) *program {
	t.Helper()
	x, err := snapshot.OpenIndex(context.Background(), t.Logf)
	require.NoError(t, err)
	bias, err := snapshot.LoadBias(x)
	require.NoError(t, err)
	plan, err := inplace.NewPlan(x, bias)
	require.NoError(t, err)
	t.Cleanup(plan.GiveBack)
	return &program{x, bias, plan}
}

func resting() bool { return !snapshot.Marking() }

func (p *program) take(t *testing.T, limit int64) *inplace.Image {
	t.Helper()
	i, err := p.plan.Take(resting, limit)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()) })
	return i
}

// at returns the copied bytes at an address, nil if the image does not have them all.
func at(i *inplace.Image, addr uint64, n uint64) []byte {
	for _, p := range i.Held() {
		if p.Addr <= addr && addr+n <= p.Addr+uint64(len(p.Data)) {
			return p.Data[addr-p.Addr:][:n]
		}
	}
	return nil
}

func addressOf(pointer any) uint64 { return uint64(reflect.ValueOf(pointer).Pointer()) }

type node struct {
	next   *node
	number int
}

var (
	list    *node
	numbers [4]int
	large   [1 << 20]byte // without pointers, and not of the runtime
)

func fill(n int) {
	list = nil
	for i := range n {
		list = &node{list, i}
	}
}

// The image has the memory as it was, whatever the program does later: objects with pointers, small
// ones without, and variables. It has no large memory without pointers.
func TestImageOfThisProcess(t *testing.T) {
	p := newProgram(t)
	defer func() { list = nil }()
	small, bulk := []byte("a small object without pointers"), make([]byte, 1<<20)
	for name, limit := range map[string]int64{"any size": inplace.AnySize, "small": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			fill(1000)
			first := list
			numbers[2], large[1000], bulk[5] = 7, 1, 1
			i := p.take(t, limit)
			numbers[2], first.number = 8, -1
			list = nil
			assert.EqualValues(t, 7, binary.LittleEndian.Uint64(at(i, addressOf(&numbers[2]), 8)))
			addr := binary.LittleEndian.Uint64(at(i, addressOf(&list), 8))
			assert.Equal(t, addressOf(first), addr)
			for want := 999; want >= 0; want-- {
				b := at(i, addr, 16)
				require.NotNil(t, b)
				require.EqualValues(t, want, binary.LittleEndian.Uint64(b[8:]))
				addr = binary.LittleEndian.Uint64(b)
			}
			assert.Zero(t, addr)
			assert.Equal(t, string(small), string(at(i, addressOf(&small[0]), uint64(len(small)))))
			assert.Nil(t, at(i, addressOf(&bulk[0]), 8))
			assert.Nil(t, at(i, addressOf(&large[0]), 8))
			assert.Positive(t, i.Size())
			assert.GreaterOrEqual(t, i.Pause(), time.Duration(0), "a clock of Windows may not have moved")
			held := uint64(0)
			for k, piece := range i.Held() {
				held += uint64(len(piece.Data))
				if k > 0 { // constants may be in two pieces, which agree
					before := i.Held()[k-1]
					if both := int64(before.Addr) + int64(len(before.Data)) - int64(piece.Addr); both > 0 {
						n := min(int(both), len(piece.Data))
						from := int(piece.Addr - before.Addr)
						require.True(t, bytes.Equal(before.Data[from:from+n], piece.Data[:n]), "pieces that overlap differ")
					}
				}
			}
			assert.Greater(t, held, uint64(i.Size()), "there are constants, too")
		})
	}
	runtime.KeepAlive(bulk)
}

// A model of the image has all that the model of a process needs, and the collector's marks agree.
func TestModelOfImage(t *testing.T) {
	p := newProgram(t)
	fill(1000)
	defer func() { list = nil }()
	runtime.GC()
	i := p.take(t, inplace.AnySize)
	m, err := goruntime.LoadSpans(image.NewSpace(i), p.index, p.bias, runtime.GOARCH)
	require.NoError(t, err)
	pc, sp := i.Caller()
	require.NoError(t, m.LoadObjects(goruntime.Caller{G: uint64(i.CallerG()), PC: uint64(pc), SP: uint64(sp)}))
	s, obj := m.Object(addressOf(list))
	require.NotNil(t, s)
	assert.True(t, s.Marked(obj-s.FirstObj))
	callers := 0
	for _, g := range m.Goroutines {
		require.NoError(t, m.LiveSlots(g, func(goruntime.Slot) {}))
		if g.IsCaller {
			callers++
			assert.Equal(t, uint64(sp), g.SP)
		}
	}
	assert.Equal(t, 1, callers)
	assert.InDelta(t, runtime.NumGoroutine(), len(m.Goroutines), 10, "beside those of the runtime")

	marks, err := p.plan.TakeMarks(resting)
	require.NoError(t, err)
	defer marks.Close()
	assert.Less(t, marks.Size(), i.Size())
	later, err := goruntime.LoadMarks(image.NewSpace(marks), p.index, p.bias, runtime.GOARCH)
	require.NoError(t, err)
	k := slices.IndexFunc(later.Spans, func(l goruntime.Span) bool { return l.Base == s.Base })
	require.GreaterOrEqual(t, k, 0)
	assert.True(t, later.Spans[k].Marked(obj-s.FirstObj))
	assert.Nil(t, at(marks, addressOf(list), 16), "it has no objects")
}

// A copy that would take more than its limit is not made.
func TestLimitOfImage(t *testing.T) {
	p := newProgram(t)
	_, err := p.plan.Take(resting, 1000)
	require.ErrorIs(t, err, inplace.ErrSize)
	var failed *freeze.Error
	require.ErrorAs(t, err, &failed)
}

// The memory of a small copy is kept for the next one, which has other contents, and is given back
// at last.
func TestSpareMemory(t *testing.T) {
	p := newProgram(t)
	before := offheap.Kept.Load()
	defer func() { list = nil }()
	for round := range 3 {
		fill(100 + round)
		i, err := p.plan.Take(resting, 1<<30)
		require.NoError(t, err)
		b := at(i, addressOf(list), 16)
		require.NotNil(t, b)
		assert.EqualValues(t, 99+round, binary.LittleEndian.Uint64(b[8:]))
		require.NoError(t, i.Close())
		assert.Nil(t, i.Held())
		require.NoError(t, i.Close())
	}
	assert.Greater(t, offheap.Kept.Load(), before)
	p.plan.GiveBack()
	assert.Equal(t, before, offheap.Kept.Load())
}

// Read-only data is read where it is.
func TestConstants(t *testing.T) {
	p := newProgram(t)
	i := p.take(t, inplace.AnySize)
	text := "a text that the compiler has made"
	got := at(i, uint64(uintptr(unsafe.Pointer(unsafe.StringData(text)))), uint64(len(text)))
	assert.True(t, bytes.Equal([]byte(text), got))
	code := reflect.ValueOf(TestConstants).Pointer()
	require.NotNil(t, at(i, uint64(code), 16))
}
