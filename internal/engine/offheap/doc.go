// Package offheap has memory for what a scan notes down, outside of the heap of the process that is
// scanned: the collector neither counts it, so that a scan does not change when the program's next
// collection is due, nor looks into it, and it goes back to the system when it is given back.
package offheap
