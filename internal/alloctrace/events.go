package alloctrace

// Events, as in go1.27 internal/trace/tracev2/events.go; go1.26 has the same.
const (
	evEventBatch          = 1
	evStacks              = 2
	evStrings             = 4
	evCPUSamples          = 6
	evFrequency           = 8
	evGoCreate            = 14
	evGoCreateSyscall     = 15
	evGoStart             = 16
	evGoDestroy           = 17
	evGoDestroySyscall    = 18
	evGoStop              = 19
	evGoBlock             = 20
	evGoSyscallEndBlocked = 24
	evGoStatus            = 25
	evGoSwitch            = 45
	evGoSwitchDestroy     = 46
	evGoCreateBlocked     = 47
	evGoStatusStack       = 48
	evExperimentalBatch   = 49
	evSync                = 50
	evEndOfGeneration     = 52
	evSpan                = 128
	evSpanAlloc           = 129
	evObjectAlloc         = 132
	evObjectFree          = 133
)

// allocFree is the experiment whose batches have types; typesBatch is the first byte of batches
// that list types.
const (
	allocFree  = 1
	typesBatch = 0
)

// Goroutines of these states have a thread: internal/trace/tracev2, GoRunning and GoSyscall.
const (
	goRunning = 2
	goSyscall = 3
)

// Setting returns a value of GODEBUG with the setting that adds allocations to traces.
func Setting(before string) string {
	const setting = "traceallocfree=1"
	if before == "" {
		return setting
	}
	return before + "," + setting
}

// maxArguments is how many arguments an event has at most, its time included.
const maxArguments = 6

// timed and experimental have the number of arguments of each event in a batch of a thread, the
// time included. They begin with the events firstTimed and firstExperimental.
var (
	timed = [...]int8{
		3, 3, 1, 4, 3, // ProcsChange, ProcStart, ProcStop, ProcSteal, ProcStatus
		4, 2, 3, 1, 1, 3, 3, 4, 3, 1, 1, 4, // GoCreate to GoStatus
		3, 1, // STWBegin, STWEnd
		2, 3, 2, 2, 2, 3, 2, 2, 1, 2, 2, // GCActive to HeapGoal
		2, 5, 3, 4, 4, 5, // GoLabel, user tasks, regions, logs
		3, 3, 4, 5, // GoSwitch, GoSwitchDestroy, GoCreateBlocked, GoStatusStack
	}
	experimental = [...]int8{4, 4, 2, 3, 3, 2, 3, 3, 2} // Span to GoroutineStackFree
)

const firstTimed, firstExperimental = 9, 128

// arguments returns how many arguments an event has, and false for one that this package does not
// know.
func arguments(event byte) (n int, known bool) {
	switch {
	case event >= firstExperimental && int(event)-firstExperimental < len(experimental):
		return int(experimental[event-firstExperimental]), true
	case event >= firstTimed && int(event)-firstTimed < len(timed):
		return int(timed[event-firstTimed]), true
	}
	return 0, false
}
