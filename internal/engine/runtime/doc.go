// Package runtime is the wing that knows Go's runtime. In goes an image with the program's symbols,
// out come the runtime's own structures: their fields' offsets (rtlayout), modules, spans and
// goroutines with their frames (goruntime), states of goroutines (gstate), registers, specials of
// objects such as finalizers (special), stacks (stackmem), and the collector's counters (gccount,
// gcwatch). A new release of Go touches this wing.
//
// It uses memory and symbols.
package runtime
