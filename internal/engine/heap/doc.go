// Package heap is the wing that gives each object of an image its type. In go the runtime's
// structures, out comes the typed heap: which objects are alive (live), types of variables and what
// they refer to (heaptype, dataseg, stackvar, timer), the type of each object (typing, infer,
// ended), and all of it together (typedheap); and what is in an object, for people (example,
// timestamp).
//
// It uses memory, symbols and runtime.
package heap
