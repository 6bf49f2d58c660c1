package symbol

// Names of roots that stand for no variable. Temporary names stack slots that belong to no
// variable: the compiler's own copies, arguments of calls under way, registers. Deferred names what
// a deferred call refers to. The roots of those of a function are "import/path.Func.$temporary" and
// "import/path.Func.$defer".
const (
	Temporary = "$temporary"
	Deferred  = "$defer"

	TimerHeaps   = "runtime.(timers)" // the runtime's lists of timers
	UnnamedData  = "runtime.(unnamed data)"
	Unattributed = "runtime.(unattributed)"
	TinyGaps     = "runtime.(gaps of the tiny allocator)"
	OfScheduler  = "runtime.(objects of the scheduler)"
)

// RuntimeRoots are the roots of the runtime that stand for no variable of its own.
var RuntimeRoots = []string{TimerHeaps, UnnamedData, Unattributed, TinyGaps, OfScheduler, "finalizer queue", "cleanup queue", "weak queue"}

// Prefixes of the names of roots by what they hang on: a function or a type in parentheses, or the
// function that a goroutine started in.
const (
	TimerRoot     = "timer("
	FinalizerRoot = "finalizer("
	CleanupRoot   = "cleanup("
	WeakRoot      = "weak("
	GoroutineRoot = "goroutine "
)
