// Package newborn tells, without a snapshot, what of the running process is new: which heap objects,
// map entries, goroutines and pending timers there are after a garbage collection that were not
// there after an earlier one. It reads the runtime's own records in place, while the program runs.
//
// # Why that is exact
//
// A collection marks what is alive, and sweeping a span makes these marks its allocBits, which
// allocating does not change (go1.26 and go1.27 runtime/mbitmap.go, mspan.isFree; mgcsweep.go). So
// between two collections the bits of all swept spans say what the first of them found alive. The
// bits of the first count are kept, as old. An object does not move, so what is in its slot at a
// later count is the same object unless it was freed in between, which takes a collection that did
// not mark it. Passed is to be called after everything that may allocate: where it sees that a
// collection has ended, it takes from old what that did not mark. Where two ended at once, some of
// what seems old may be new, and the watch says that it missed one. Else an object that is marked
// now and not old is new, and there are no others.
//
// Spans' records are never unmapped, and neither is the memory of bits. Lists that grow are, whose
// reading may fault: the caller turns that into an error. Where a collection ended while bits were
// read they are read once more. Their sum has to be what the collector says that it marked.
//
// # What is new without being an object
//
// Elements that are appended to a slice within its capacity. Slices tells of those, by the lengths in
// what looks like a slice's header.
package newborn
