package gstate

import (
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// A Block is what a blocked goroutine waits for.
type Block struct {
	// Wakers are the addresses of the channels that may wake the goroutine, or of the semaphore of
	// a mutex or wait group, or of a condition's list. If there are none, nothing can wake it: it
	// waits on a nil channel, or in an empty select. The waker of a coroutine is what the functions
	// of iter.Pull switch by.
	Wakers []uint64
	// Records are the runtime's records of the wait: those that refer to the wakers, and the
	// goroutine's own, which refers to its deferred calls.
	Records []WaitRecord
}

// A WaitRecord is an object of the runtime's with words that matter only once the goroutine is
// woken: its possible wakers, the value that it sends, and its deferred calls. While the goroutine
// is blocked, these words bring the objects that they refer to no nearer to use. Once it may run,
// its stack refers to the same objects.
type WaitRecord struct {
	Addr  uint64
	Words []uint64 // addresses of these words
}

// blockKind says what ends a wait.
type blockKind uint8

const (
	blockNever blockKind = iota + 1 // nothing
	blockChannel
	blockSync
	blockCoroutine
)

// blockKinds are the waits that only the program itself can end, by the names of their reasons
// (runtime/runtime2.go, waitReasonStrings; go1.26 and go1.27). A durable wait is a wait inside of a
// bubble of testing/synctest. A goroutine that waits for anything else, such as a timer or the
// network, may run again.
var blockKinds = map[string]blockKind{
	"chan receive (nil chan)": blockNever, "chan send (nil chan)": blockNever, "select (no cases)": blockNever,
	"chan receive": blockChannel, "chan send": blockChannel, "select": blockChannel,
	"chan receive (durable)": blockChannel, "chan send (durable)": blockChannel, "select (durable)": blockChannel,
	"sync.Cond.Wait": blockSync, "sync.Mutex.Lock": blockSync, "sync.RWMutex.RLock": blockSync,
	"sync.RWMutex.Lock": blockSync, "sync.WaitGroup.Wait": blockSync, "sync.WaitGroup.Wait (durable)": blockSync,
	"coroutine": blockCoroutine,
}

// Blocks reads Block records.
type Blocks struct {
	m      *goruntime.Model
	states *States
	at     rtlayout.Sudog
	coro   rtlayout.Coroutine
}

// NewBlocks looks up the fields that reading blocks needs.
func NewBlocks(m *goruntime.Model) (*Blocks, error) {
	l := m.Fields()
	b := &Blocks{m: m}
	l.Fill(&b.at)
	if l.Fill(&b.coro); l.Err() != nil {
		return nil, l.Err()
	}
	var err error
	b.states, err = NewStates(m)
	return b, err
}

// Of returns what a goroutine waits for. ok is false for a goroutine that may run without an action
// of the program.
func (b *Blocks) Of(g *goruntime.Goroutine) (Block, bool) {
	state := b.states.Of(g)
	kind := blockKinds[state.WaitReason] // 0 unless the goroutine waits
	mem, first := b.m.Mem, g.Addr+uint64(b.states.at.Waiting)
	if kind == 0 || g.IsCaller || g.Lost() || !mem.Try(first, 8) {
		return Block{}, false
	}
	block := Block{Records: []WaitRecord{{g.Addr, []uint64{g.Addr + uint64(b.states.at.Defers)}}}}
	switch kind {
	case blockNever:
		return block, true
	case blockCoroutine:
		return b.coroutine(g, block)
	}
	waker := b.at.Channel
	if kind == blockSync {
		waker = b.at.Elem
	}
	for record := mem.U64(first); record != 0; record = mem.U64(record + b.at.Next) {
		if len(block.Wakers) == goruntime.MaxWaits || !mem.Try(record, b.at.Size) {
			return Block{}, false // damaged
		}
		addr := mem.U64(record + waker)
		if addr == 0 {
			return Block{}, false // the goroutine is just being woken
		}
		block.Records = append(block.Records, WaitRecord{record, []uint64{record + b.at.ChannelPointer, record + b.at.ElemPointer}})
		block.Wakers = append(block.Wakers, addr)
		if kind == blockSync {
			break // the link leads to other goroutines that wait for the same semaphore
		}
	}
	// A select of nil channels only has no records; a goroutine that waits for a semaphore has one.
	return block, kind == blockChannel || len(block.Wakers) > 0
}

// coroutine completes the block of a goroutine that waits to be switched to. It is the one that its
// runtime.coro names, which it refers to until it has begun, and its frames do after that.
func (b *Blocks) coroutine(g *goruntime.Goroutine, block Block) (Block, bool) {
	notBegun := g.Addr + uint64(b.states.at.Coroutine)
	block.Records[0].Words = append(block.Records[0].Words, notBegun)
	found := func(addr uint64) {
		s, obj := b.m.Object(addr)
		if s != nil && s.Addr(obj) == addr && uint64(s.ElemSize) >= b.coro.Size && b.m.Mem.U64(addr+b.coro.Goroutine) == g.Addr && len(block.Wakers) == 0 {
			block.Wakers = append(block.Wakers, addr)
		}
	}
	if found(b.m.Mem.U64(notBegun)); len(block.Wakers) == 0 {
		if err := b.m.LiveSlots(g, func(s goruntime.Slot) { found(s.Value) }); err != nil {
			return Block{}, false
		}
	}
	return block, len(block.Wakers) > 0
}
