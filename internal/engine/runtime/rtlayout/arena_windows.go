package rtlayout

// ArenaShift is the logarithm of the size of a heap arena. ArenaL2Bits is the logarithm of the
// length of a second-level table of arenas (runtime/malloc.go, logHeapArenaBytes and arenaL2Bits).
const (
	ArenaShift  = 22
	ArenaL2Bits = 20
)
