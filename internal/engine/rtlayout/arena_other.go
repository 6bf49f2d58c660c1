//go:build !windows

package rtlayout

// What the runtime reserves for the heap at once, and of its two tables of that how large the second
// kind is, as logarithms (runtime/malloc.go, logHeapArenaBytes and arenaL2Bits).
const (
	ArenaShift  = 26
	ArenaL2Bits = 22
)
