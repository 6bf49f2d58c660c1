// Package offheap provides memory for the tables of a scan, outside of the heap of the process that
// is scanned. The collector does not count it, so that a scan does not change when the program's
// next collection is due, and does not look into it. Memory that is given back goes back to the
// system.
//
// It also reads and writes memory of this process where the race detector does not look. Word,
// Half, Quarter, Byte and Bytes read in place, at any address: the runtime's own records, and
// objects of unknown types. The caller makes sure that the memory is mapped, and that concurrent
// writes to it do no harm. checkptr does not see these reads either.
//
// Load32, Load64 and Store32 are for words that other goroutines may replace. Each word is complete
// by itself: no reader goes on from its value to memory that another goroutine has written. With
// -race each atomic operation of sync/atomic goes through the race detector, which keeps a record
// of every address that was ever written to atomically; with a word for each object of a heap, that
// took a fifth of a scan. With -race on amd64, the operations here are plain loads and stores; the
// processor does not reorder loads there. With the build tag instrumented the race detector sees
// them again, for tests of this module.
package offheap
