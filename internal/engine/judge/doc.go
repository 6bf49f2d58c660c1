// Package judge finds out what a frozen heap holds a second time: naively, slowly, and apart from
// the packages that it judges in tests. Nothing but tests imports it.
//
// It reads memory at addresses, decodes pointer masks and type descriptors by itself, and follows
// every word that may be a pointer. It has no order of visits to get right, no ranks and no shared
// sets: what a set of objects retains is found by going through the whole graph without it.
//
// It shares with the judged the tables that package goruntime reads: bounds and masks of the data
// segments, the list of spans with the bits that tell which slots hold objects, the words of stacks
// that the collector would follow, and the list of finalizers, cleanups and weak handles. To read
// those twice would be to write the same code twice: they are judged by the collector's own mark
// bits (the audit of each report). It reads types out of the same index of debug information, which
// delve judges.
package judge
