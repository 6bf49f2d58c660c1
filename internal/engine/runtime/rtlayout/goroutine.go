package rtlayout

// Goroutine is of goroutines (runtime/runtime2.go).
type Goroutine struct {
	_          struct{} `of:"runtime.g"`
	Size       uintptr
	ID         uintptr `is:"goid"`
	Parent     uintptr `is:"parentGoid"`
	Status     uintptr `is:"atomicstatus,4"` // Idle and others, Scanning
	WaitReason uintptr `is:"waitreason,1"`
	StackLo    uintptr `is:"stack.lo"`
	StackHi    uintptr `is:"stack.hi"`
	StackTop   uintptr `is:"stktopsp"` // where a complete walk of the stack ends
	SP         uintptr `is:"sched.sp"`
	BP         uintptr `is:"sched.bp"`
	PC         uintptr `is:"sched.pc"`
	LR         uintptr `is:"sched.lr"`
	Context    uintptr `is:"sched.ctxt"`
	SyscallSP  uintptr `is:"syscallsp"` // 0 outside of a system call
	SyscallPC  uintptr `is:"syscallpc"`
	Async      uintptr `is:"asyncSafePoint,1"` // stopped between safe points
	Waiting    uintptr `is:"waiting"`          // a Sudog
	Defers     uintptr `is:"_defer"`
	Panics     uintptr `is:"_panic"`
	GoPC       uintptr `is:"gopc"`
	StartPC    uintptr `is:"startpc"`
	Labels     uintptr `is:"labels"`
	Locked     uintptr `is:"lockedm"` // a Thread
	Bubble     uintptr `is:"bubble"`
	Coroutine  uintptr `is:"coroarg"` // a Coroutine that has not begun
}

// Coroutine is of what iter.Pull switches goroutines by (runtime/coro.go).
type Coroutine struct {
	_         struct{} `of:"runtime.coro"`
	Size      uint64
	Goroutine uint64 `is:"gp"` // the one that waits for its turn; the collector does not follow it
}

// Thread is of threads (runtime/runtime2.go, m).
type Thread struct {
	_         struct{} `of:"runtime.m"`
	Next      uint64   `is:"alllink"`
	NextEnded uint64   `is:"freelink"`
	Ended     uint64   `is:"freeWait,4"` // whether its stack was freed
	ID        uint64   `is:"procid"`
	G0        uint64   `is:"g0"`
	Signal    uint64   `is:"gsignal"`
	Goroutine uint64   `is:"curg"`
	ClockSP   uint64   `is:"vdsoSP"`
	ClockPC   uint64   `is:"vdsoPC"`
	InC       uint64   `is:"incgo,1"`      // it runs C code
	Extra     uint64   `is:"isExtraInC,1"` // C code started it, and it runs no Go code
}

// Sudog is of the records of goroutines that wait, for a channel or a semaphore
// (runtime/runtime2.go). The pointers are those that the runtime clears while it looks for leaks,
// and the others the copies that it keeps (maybeTraceablePtr).
type Sudog struct {
	_              struct{} `of:"runtime.sudog"`
	Size           uint64
	Next           uint64 `is:"waitlink"`
	Elem           uint64 `is:"elem.vu"`
	ElemPointer    uint64 `is:"elem.vp"`
	Channel        uint64 `is:"c.maybeTraceablePtr.vu"`
	ChannelPointer uint64 `is:"c.maybeTraceablePtr.vp"`
}

// Deferred is of deferred calls (runtime/runtime2.go).
type Deferred struct {
	_    struct{} `of:"runtime._defer"`
	Next uint64   `is:"link"`
	Fn   uint64   `is:"fn"`
	Heap uint64   `is:"heap,1"`
	SP   uint64   `is:"sp"`
}

// Processor is of processors (runtime/runtime2.go).
type Processor struct {
	_      struct{} `of:"runtime.p"`
	Slices uintptr  `is:"schedtick,4"` // time slices that it has given out
	Timers uintptr  `is:"timers.heap"`
	Cache  uintptr  `is:"mcache"`
	Sudogs uintptr  `is:"sudogcache"`
	Defers uintptr  `is:"deferpool"`
}

// Timer is of timers, and of the entries of heaps of them (runtime/time.go).
type Timer struct {
	_      struct{} `of:"runtime.timer"`
	Size   uintptr
	When   uintptr  `is:"when"`   // by the clock of runtime.nanotime
	Period uintptr  `is:"period"` // 0 if it does not repeat
	Fn     uintptr  `is:"f"`
	Arg    uintptr  `is:"arg"`      // an interface
	State  uintptr  `is:"state,1"`  // TimerZombie
	Fake   uintptr  `is:"isFake,1"` // it goes by the clock of a bubble
	_      struct{} `of:"runtime.timerWhen"`
	Entry  uintptr  `is:""`
	_      struct{} `of:"runtime.synctestBubble"`
	Bubble uintptr  `is:"timers.heap"`
}

// Channel is of channels (runtime/chan.go).
type Channel struct {
	_        struct{} `of:"runtime.hchan"`
	Size     uintptr
	Used     uintptr `is:"qcount"`
	Room     uintptr `is:"dataqsiz"`
	ElemSize uintptr `is:"elemsize,2"`
	ElemType uintptr `is:"elemtype"`
	Buffer   uintptr `is:"buf"`
}

// Stacks is of the runtime's account of stacks (runtime/mcache.go, mstats.go).
type Stacks struct {
	_      struct{} `of:"runtime.mcache"`
	Cached uint64   `is:"stackcache"` // an array, by order
	_      struct{} `of:"runtime.stackfreelist"`
	Free   uint64   `is:"size"`
	Each   uint64   `is:""`
	_      struct{} `of:"runtime.heapStatsDelta"`
	Used   uint64   `is:"inStacks"`
	Delta  uint64   `is:""`
	_      struct{} `at:"runtime.memstats"`
	System uint64   `is:"stacks_sys"`
	Heap   uint64   `is:"heapStats.stats"` // an array
	_      struct{} `at:"runtime.sched"`
	Ended  uint64   `is:"freem"` // the first Thread
	_      struct{} `at:""`
	Main   uint64   `is:"runtime.m0"`
	Crash  uint64   `is:"runtime.gcrash"`
	UsesC  uint64   `is:"runtime.iscgo,1"`
}
