package goruntime

// A Wait is a place that a goroutine waits to send a value from, or to receive one into.
type Wait struct {
	Addr uint64 // of the value, often on the goroutine's own stack
	Type uint64 // address of the channel's element type
}

// maxWaits bounds the list of a select's cases, which the compiler limits to 65536
// (go1.26 runtime/select.go, selectgo).
const maxWaits = 1 << 16

// Waits lists the values of the channel operations that a goroutine is blocked in
// (runtime/runtime2.go, g.waiting and sudog; go1.26 and go1.27). A goroutine that waits for none,
// or whose record is damaged, has none.
func (m *Model) Waits(g *Goroutine) []Wait {
	f := &m.waits
	if f.err != nil || !m.Mem.Try(g.Addr+f.waiting, 8) {
		return nil
	}
	var waits []Wait
	var list chain
	for sg := m.Mem.U64(g.Addr + f.waiting); sg != 0 && len(waits) < maxWaits && !list.returns(sg); sg = m.Mem.U64(sg + f.link) {
		if !m.Mem.Try(sg, f.length) {
			return waits
		}
		elem, c := m.Mem.U64(sg+f.elem), m.Mem.U64(sg+f.channel)
		if elem != 0 && c != 0 && m.Mem.Try(c, f.elemType+8) {
			waits = append(waits, Wait{Addr: elem, Type: m.Mem.U64(c + f.elemType)})
		}
	}
	return waits
}

// waitFields are offsets that Waits needs for each goroutine.
type waitFields struct {
	waiting, elem, channel, link, elemType uint64
	length                                 uint64 // of a sudog
	err                                    error
}

func (m *Model) findWaitFields() waitFields {
	const sudog = "runtime.sudog"
	l := layouts{names: m.names}
	f := waitFields{
		waiting: l.off("runtime.g", "waiting"), elem: l.off(sudog, "elem.vu"), channel: l.off(sudog, "c.maybeTraceablePtr.vu"),
		link: l.off(sudog, "waitlink"), elemType: l.off("runtime.hchan", "elemtype"), length: l.size(sudog),
	}
	f.err = l.err
	return f
}

// A Block is what a blocked goroutine waits for.
type Block struct {
	// Wakers are the addresses of the channels of which any may wake it, or of the semaphore of a
	// mutex or wait group, or of a condition's list. Without any, nothing can: it sends to a nil
	// channel, or is in an empty select.
	Wakers []uint64
	// Records are the runtime's own of the wait: those that refer to the wakers, and the
	// goroutine's, which refers to its deferred calls.
	Records []WaitRecord
}

// A WaitRecord is an object of the runtime's with words that matter only to a goroutine that is
// woken: what could wake it, where the value is that it sends, and what it deferred. While it is
// blocked, what they refer to is no nearer to being used for them; once it may run, its stack
// refers to the same.
type WaitRecord struct {
	Addr  uint64
	Words []uint64 // their addresses
}

// blockKind says what ends a wait.
type blockKind uint8

const (
	blockNever blockKind = iota + 1 // nothing
	blockChannel
	blockSync
)

// blockKinds are the waits that only the program itself can end, by the names of their reasons
// (runtime/runtime2.go, waitReasonStrings; go1.26 and go1.27). A durable wait is one inside of a
// bubble of testing/synctest. Who waits for anything else, such as a timer, the network or a
// coroutine, may run again.
var blockKinds = map[string]blockKind{
	"chan receive (nil chan)": blockNever, "chan send (nil chan)": blockNever, "select (no cases)": blockNever,
	"chan receive": blockChannel, "chan send": blockChannel, "select": blockChannel,
	"chan receive (durable)": blockChannel, "chan send (durable)": blockChannel, "select (durable)": blockChannel,
	"sync.Cond.Wait": blockSync, "sync.Mutex.Lock": blockSync, "sync.RWMutex.RLock": blockSync,
	"sync.RWMutex.Lock": blockSync, "sync.WaitGroup.Wait": blockSync, "sync.WaitGroup.Wait (durable)": blockSync,
}

// Blocks reads Block records.
type Blocks struct {
	m                             *Model
	states                        *States
	waiting, defers, link, length uint64
	elem, channel                 wakerField
}

// wakerField is a conditionally traceable pointer of a record: the pointer itself, which the
// runtime clears while it looks for leaks, and the copy that it keeps (runtime/runtime2.go,
// maybeTraceablePtr).
type wakerField struct{ pointer, value uint64 }

func (l *layouts) wakerField(path string) wakerField {
	const sudog = "runtime.sudog"
	return wakerField{l.off(sudog, path+".vp"), l.off(sudog, path+".vu")}
}

// NewBlocks looks up what reading blocks needs.
func (m *Model) NewBlocks() (*Blocks, error) {
	const sudog = "runtime.sudog"
	l := &m.layouts
	b := &Blocks{
		m: m, waiting: l.off("runtime.g", "waiting"), defers: l.off("runtime.g", "_defer"), link: l.off(sudog, "waitlink"),
		elem: l.wakerField("elem"), channel: l.wakerField("c.maybeTraceablePtr"), length: l.size(sudog),
	}
	if l.err != nil {
		return nil, l.err
	}
	var err error
	b.states, err = m.NewStates()
	return b, err
}

// Of returns what a goroutine waits for. It is false for one that may run without anything that the
// program does.
func (b *Blocks) Of(g *Goroutine) (Block, bool) {
	state := b.states.Of(g)
	kind := blockKinds[state.WaitReason] // there is none unless it waits
	mem := b.m.Mem
	if kind == 0 || g.IsCaller || g.lost || !mem.Try(g.Addr+b.waiting, 8) {
		return Block{}, false
	}
	block := Block{Records: []WaitRecord{{g.Addr, []uint64{g.Addr + b.defers}}}}
	if kind == blockNever {
		return block, true
	}
	waker := b.channel
	if kind == blockSync {
		waker = b.elem
	}
	for record := mem.U64(g.Addr + b.waiting); record != 0; record = mem.U64(record + b.link) {
		if len(block.Wakers) == maxWaits || !mem.Try(record, b.length) {
			return Block{}, false // damaged
		}
		addr := mem.U64(record + waker.value)
		if addr == 0 {
			return Block{}, false // it is just being woken
		}
		block.Records = append(block.Records, WaitRecord{record, []uint64{record + b.channel.pointer, record + b.elem.pointer}})
		block.Wakers = append(block.Wakers, addr)
		if kind == blockSync {
			break // the link leads to others that wait for the same
		}
	}
	// A select of nil channels only has no records; whoever waits for a semaphore has one.
	return block, kind == blockChannel || len(block.Wakers) > 0
}
