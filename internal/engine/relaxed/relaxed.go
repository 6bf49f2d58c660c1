// Package relaxed reads and writes words that other goroutines may replace, and that tell all by
// themselves: no memory that somebody else wrote to is read because of what such a word says.
//
// With -race each atomic operation of sync/atomic goes through the race detector, which keeps a
// record of every address that was ever written to atomically; for a word for each object of a heap
// that took a fifth of a scan. These are plain loads and stores there, on amd64, where loads are not
// done before those that stand before them.
//
// The build tag instrumented has the race detector see them again, for tests of this module.
package relaxed
