// Package judge is the oracle of the engine's tests: it computes what a frozen heap holds
// independently of the packages under test, naively and slowly. Only tests import it.
//
// It reads memory at addresses, decodes pointer masks and type descriptors by itself, and follows
// every word that may be a pointer. It depends on no order of visits, ranks or shared sets: to find
// what a set of objects retains, it walks the whole graph without the set.
//
// It shares with the packages under test the tables that package goruntime reads: bounds and masks
// of the data segments, the list of spans with the bits that tell which slots hold objects, the
// words of stacks that the collector would follow, and the list of finalizers, cleanups and weak
// handles. A second reader of those would be the same code written twice. The collector's own mark
// bits are the check of these tables (the audit of each report). Types come from the same index of
// debug information, which is checked against delve.
package judge
