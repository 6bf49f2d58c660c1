//go:build !linux

package offheap

// Make returns a list of n numbers, all 0, to be given back with Free.
func Make(n int) []uint32 { return make([]uint32, n) }

// Free gives back a list that Make returned, in its whole length.
func Free([]uint32) {}
