//go:build !asan

package snapshot

// Padded says that the program is built with -asan, whose allocator puts a red zone behind each
// object (go1.26 and go1.27 runtime/malloc.go, mallocgc, and redZoneSize).
const Padded = false
