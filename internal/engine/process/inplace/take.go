//go:build (linux || windows || darwin) && (amd64 || arm64)

package inplace

import (
	"errors"
	"fmt"
	"runtime"
	"sort"
	"syscall"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/realtime"
)

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// Supported says whether processes can be copied on this system.
const Supported = true

// Image is a copy of this process. Its methods may be called concurrently.
type Image struct {
	pc, sp, g     uintptr
	pause, frozen time.Duration
	size          int64
	held          []image.Piece
	areas         [][]byte // memory from the system, to be released; the first is the control's
	plan          *Plan
	keepsAreas    bool // the areas are kept for the next copy: address space is not limited
}

// ErrRestless is the error of a heap that grew faster than it could be copied.
var ErrRestless = errors.New("the heap kept growing, or being collected, while it was to be copied")

// How often a copy is tried at most if it finds less room than it needs, or a collection under way.
const (
	maxTries      = 20
	maxSmallTries = 2 // for a copy with a limit: a caller that sets one has another way
)

// What a copy may need beyond what was measured, since the program runs in between: a quarter of it
// more, a number of bytes of the mirror's address space and of other memory, and a number of
// regions.
const (
	growthShare   = 4
	mirrorGrowth  = 64 << 20
	othersGrowth  = 1 << 20
	regionsGrowth = 256
)

// Take copies the process at a moment when ready returns true, as freeze.TakeWhen freezes it. If
// the copy would take more bytes than limit, the error wraps ErrSize. The caller must call Close.
// On Linux the pause is about 0.05 ms for each MB that is copied; without a limit it is 0.2 ms, and
// ten times that if memory is new to a virtual machine.
func (p *Plan) Take(ready func() bool, limit int64) (*Image, error) {
	return p.take(ready, limit, false)
}

// TakeMarks is Take for a reader that needs only the marks of the last collection (package
// goruntime, LoadMarks): the image has no objects and no stacks.
func (p *Plan) TakeMarks(ready func() bool) (*Image, error) { return p.take(ready, AnySize, true) }

func (p *Plan) take(ready func() bool, limit int64, marks bool) (_ *Image, err error) {
	i := &Image{plan: p}
	defer func() {
		if err != nil {
			_ = i.drop(0)
		}
	}()
	tries, small := maxTries, limit < AnySize
	if small {
		tries, i.areas = maxSmallTries, p.swapSpare(nil)
	}
	c, err := i.control(marks)
	if err != nil {
		return nil, err
	}
	for range tries {
		done := false
		alone, refused := freeze.WhenReady(ready, func() { done, err = i.try(c, ready, limit) })
		if refused != nil {
			return nil, &freeze.Error{Op: "waiting for the process to be ready", Err: refused}
		}
		if err != nil {
			return nil, err
		}
		if done && alone {
			i.pc, i.sp, i.g, i.size = c.pc, c.sp, c.g, int64(c.heapBytes+c.otherBytes)
			i.hold(c, p.constants())
			c.copied += uintptr(i.size)
			i.keepsAreas = small && c.copied <= maxSpared && !headroom.HasOwn()
			return i, nil
		}
		if err := i.drop(1); err != nil { // all but the control area
			return nil, err
		}
	}
	return nil, &freeze.Error{Op: operation, Remedy: "let the program come to rest before the assertion", Err: ErrRestless}
}

// control returns the control of a copy, in the first area.
func (i *Image) control(marks bool) (*control, error) {
	variables := i.plan.variables
	if len(i.areas) == 0 {
		if _, err := i.memory(unsafe.Sizeof(control{}) + uintptr(len(variables))*unsafe.Sizeof(region{})); err != nil {
			return nil, err
		}
	}
	c := (*control)(unsafe.Pointer(unsafe.SliceData(i.areas[0])))
	c.places, c.marks = i.plan.places, marks
	list := unsafe.Slice((*region)(unsafe.Add(unsafe.Pointer(c), unsafe.Sizeof(control{}))), len(variables))
	for k, v := range variables {
		list[k] = region{addr: uintptr(v.Addr), size: uintptr(v.Len)}
	}
	c.variables, c.nvariables = address(unsafe.Pointer(unsafe.SliceData(list))), uintptr(len(list))
	return c, nil
}

// try measures, gets memory and copies, on one processor. In between, other goroutines may run.
func (i *Image) try(c *control, ready func() bool, limit int64) (done bool, err error) {
	c.prepared = false
	if !i.pinned(c, measure) {
		return false, nil
	}
	if int64(c.heapBytes+c.otherBytes) > limit {
		return false, &freeze.Error{Op: operation, Err: ErrSize}
	}
	if len(i.areas) > 1 && c.hasRoom() {
		clear(offheap.Bytes(c.bits, c.pages()/8+1))
	} else if err := i.room(c); err != nil {
		return false, err
	}
	if done, err := i.prepare(c, limit < AnySize); !done || err != nil {
		return false, err
	}
	if !freeze.TakeTurns(ready) {
		return false, nil
	}
	done = i.pinned(c, copying)
	if c.status == refused {
		return false, refusedError(offheap.Refused("memory for a copy of the process", syscall.Errno(c.errno)))
	}
	return done, nil
}

// hasRoom reports whether the areas of an earlier copy have room for what the walk measured.
func (c *control) hasRoom() bool {
	return c.lo <= c.min && c.max <= c.hi && c.otherBytes <= c.othersSize && c.nregions <= c.maxRegions
}

// room reserves memory for what the walk measured, and more.
func (i *Image) room(c *control) error {
	if err := i.drop(1); err != nil {
		return err
	}
	c.lo, c.hi, c.copied = c.min&^(provision-1), (c.max+mirrorGrowth)&^(provision-1), 0
	c.othersSize = c.otherBytes + c.otherBytes/growthShare + othersGrowth
	c.maxRegions = c.nregions + c.nregions/growthShare + regionsGrowth
	need := int64(c.heapBytes + c.othersSize)
	space := int64(c.hi-c.lo) + int64(c.othersSize)
	if err := (headroom.System{}).Check(headroom.Need{Resident: need, Private: need, Address: space}); err != nil {
		return &freeze.Error{Op: operation, Err: err}
	}
	mirror, err := i.reserve(c.hi - c.lo)
	if err != nil {
		return err
	}
	c.mirror = address(unsafe.Pointer(unsafe.SliceData(mirror)))
	for _, area := range [...]struct {
		at   *uintptr
		size uintptr
	}{
		{&c.bits, c.pages()/8 + 1},
		{&c.provided, (c.hi - c.lo) / provision},
		{&c.others, c.othersSize},
		{&c.regions, c.maxRegions * unsafe.Sizeof(region{})},
	} {
		b, err := i.memory(area.size)
		if err != nil {
			return err
		}
		*area.at = address(unsafe.Pointer(unsafe.SliceData(b)))
	}
	return nil
}

// reserve reserves address space, which takes memory only when it is written to or provided.
func (i *Image) reserve(size uintptr) ([]byte, error) {
	b, err := offheap.Reserve(int(size))
	if err != nil {
		return nil, refusedError(offheap.Refused(fmt.Sprintf("%d bytes for a copy of the process", size), err))
	}
	i.areas = append(i.areas, b)
	return b, nil
}

// memory is reserve for memory that is needed as a whole.
func (i *Image) memory(size uintptr) ([]byte, error) {
	b, err := i.reserve(size)
	if err == nil {
		if err = offheap.Provide(b); err != nil {
			return nil, refusedError(offheap.Refused(fmt.Sprintf("%d bytes for a copy of the process", size), err))
		}
	}
	return b, err
}

// drop releases all areas but the first keep.
func (i *Image) drop(keep int) error {
	var errs []error
	for _, b := range i.areas[min(keep, len(i.areas)):] {
		if err := offheap.Release(b); err != nil {
			errs = append(errs, err)
		}
	}
	i.areas = i.areas[:min(keep, len(i.areas))]
	if err := errors.Join(errs...); err != nil {
		return &freeze.Error{Op: "release", Err: err}
	}
	return nil
}

// provision is the unit, in bytes, in which the mirror is provided ahead of a copy: the amount that
// the runtime on Windows reserves for its heap at once.
const provision = 4 << 20

const operation = "copying the process in place"

func refusedError(call error) error {
	return &freeze.Error{Op: operation, Remedy: remedy.Of(call), Err: call}
}

func address(p unsafe.Pointer) uintptr { return uintptr(p) }

// pinned walks through the process, unless another goroutine may run. It reports whether the walk
// completed.
//
//go:noinline
//go:norace
func (i *Image) pinned(c *control, mode uintptr) (walked bool) {
	growStack()
	procPin()
	// Pinned: a change of GOMAXPROCS would take a stop of the world, which would wait for this
	// goroutine.
	if runtime.GOMAXPROCS(0) == 1 {
		i.frozen = realtime.Clock()
		if mode == copying && !c.prepared {
			c.mode = mark
			callWalk(address(unsafe.Pointer(c)))
			if c.status == whole {
				c.populate()
			}
		}
		if mode != copying || c.prepared || c.status == whole {
			c.mode = mode
			callWalk(address(unsafe.Pointer(c)))
		}
		walked = c.status == whole
		i.pause = realtime.Clock() - i.frozen
	}
	procUnpin()
	return walked
}

// pages is the number of pages of the mirror.
//
//go:norace
//go:nocheckptr
func (c *control) pages() uintptr { return (c.hi - c.lo) / rtlayout.PageSize }

// run returns the first run of needed pages of the mirror that begins at from or after it; at the
// end, the run is empty.
//
//go:norace
//go:nocheckptr
func (c *control) run(from uintptr) (first, end uintptr) {
	pages := c.pages()
	for from < pages && offheap.Byte(c.bits+from/8)>>(from&7)&1 == 0 {
		if from&7 == 0 && offheap.Byte(c.bits+from/8) == 0 {
			from += 7
		}
		from++
	}
	end = from
	for end < pages && offheap.Byte(c.bits+end/8)>>(end&7)&1 != 0 {
		end++
	}
	return from, end
}

// touch writes to each page that a walk has found to be needed, whatever its size: hypervisors that
// keep page tables of their own learn of pages one by one, which takes longer than to copy.
func (c *control) touch() {
	write := func(at, size uintptr) {
		for b := offheap.Bytes(at, size); len(b) > 0; b = b[min(4096, len(b)):] {
			b[0] = 0
		}
	}
	for from, to := c.run(0); from < to; from, to = c.run(to) {
		write(c.mirror+from*rtlayout.PageSize, (to-from)*rtlayout.PageSize)
	}
	write(c.others, min(c.otherBytes, c.othersSize))
}

// growStack makes room on the stack for the functions that pinned calls: to move the stack while
// pinned would take memory.
//
//go:noinline
func growStack() byte {
	var room [16 << 10]byte
	fill(&room)
	return room[len(room)-1]
}

//go:noinline
func fill(room *[16 << 10]byte) { room[0] = 1 }

// hold lists the copied memory and the constants, by address.
func (i *Image) hold(c *control, constants []image.Piece) {
	i.held = constants
	for from, to := c.run(0); from < to; from, to = c.run(to) {
		i.held = append(i.held, image.Piece{
			Addr: uint64(c.lo + from*rtlayout.PageSize),
			Data: offheap.Bytes(c.mirror+from*rtlayout.PageSize, (to-from)*rtlayout.PageSize),
		})
	}
	for _, r := range unsafe.Slice((*region)(pointer(c.regions)), c.nregions) {
		i.held = append(i.held, image.Piece{Addr: uint64(r.addr), Data: offheap.Bytes(r.at, r.size)})
	}
	sort.Slice(i.held, func(a, b int) bool { return i.held[a].Addr < i.held[b].Addr })
}

// Held returns all memory of the image.
func (i *Image) Held() []image.Piece { return i.held }

// Copy returns only nil slices: Held has all memory.
func (i *Image) Copy(ranges []image.Range) ([][]byte, error) { return make([][]byte, len(ranges)), nil }

// Size is how much memory the copy takes, in bytes.
func (i *Image) Size() int64 { return i.size }

// Caller returns where Take's goroutine was, as freeze.Process.Caller does.
func (i *Image) Caller() (pc, sp uintptr) { return i.pc, i.sp }

// CallerG returns the address of the runtime.g of Take's goroutine.
func (i *Image) CallerG() uintptr { return i.g }

// Pause returns how long nothing of Go ran while the memory was copied.
func (i *Image) Pause() time.Duration { return i.pause }

// Frozen returns when the process was copied, as freeze.Process.Frozen does.
func (i *Image) Frozen() time.Duration { return i.frozen }

// Close releases all memory, or has the next copy use it; slices that Held returned must not
// be used afterwards. Further calls do nothing.
func (i *Image) Close() error {
	i.held = nil
	if i.keepsAreas {
		i.keepsAreas, i.areas = false, i.plan.swapSpare(i.areas) // it may have the memory of another copy
	}
	return i.drop(0)
}
