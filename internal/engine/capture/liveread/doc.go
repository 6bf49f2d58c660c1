// Package liveread reads the runtime's own records and the memory of this very process in place,
// without a snapshot. A Watch counts what is new: the heap objects, map entries, goroutines and
// pending timers that exist after a garbage collection and did not exist after an earlier one. A
// Walk counts what a package variable leads to. CountShapes counts the objects that may have a
// type.
//
// # Why what is new is exact
//
// A collection marks the objects that are alive, and sweeping a span makes these marks its
// allocBits, which allocation does not change (go1.26 and go1.27 runtime/mbitmap.go, mspan.isFree;
// mgcsweep.go). So between two collections, the allocBits of all swept spans show the objects that
// the first of them found alive. A watch keeps the bits that it reads at its beginning, as old. An
// object does not move, so the object in a slot at a later count is the same object, unless it was
// freed in between. That takes a collection that did not mark it. The caller calls Passed after
// everything that may allocate. If a collection has ended since the last call, Passed removes from
// old the objects that the collection did not mark. If two have ended, some old bits may stand for
// new objects, and the watch reports that it missed a collection. Otherwise an object is new if it
// is marked and not old, and no other object is.
//
// The records of spans are never unmapped, nor is the memory of the bits. Lists that grow are
// unmapped, and reading them may fault: the caller turns that into an error. If a collection ends
// while bits are read, they are read again. The bytes of all marked objects have to match the
// collector's own figure.
//
// # What is new without being an object
//
// Elements that are appended to a slice within its capacity are new without being an object.
// Slices detects them, by the lengths in memory that looks like a slice's header.
package liveread
