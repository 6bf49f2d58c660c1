// Package offheap provides memory for the tables of a scan, outside of the heap of the process that
// is scanned. The collector does not count it, so that a scan does not change when the program's
// next collection is due, and does not look into it. Memory that is given back goes back to the
// system.
package offheap
