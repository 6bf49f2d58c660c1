// Package relaxed reads and writes words that other goroutines may replace. Each word is complete
// by itself: no reader goes on from its value to memory that another goroutine has written.
//
// With -race each atomic operation of sync/atomic goes through the race detector, which keeps a
// record of every address that was ever written to atomically; with a word for each object of a
// heap, that took a fifth of a scan. With -race on amd64, the operations here are plain loads and
// stores; the processor does not reorder loads there.
//
// With the build tag instrumented the race detector sees them again, for tests of this module.
package relaxed
