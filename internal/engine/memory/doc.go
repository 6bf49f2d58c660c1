// Package memory is the engine's first wing: memory as bytes and sets, of this process and of an
// image. It has reading and mapping outside of the Go heap (peek, sysmem, offheap), an image of a
// process (image), sets and tables of objects and addresses (objset, addrmap), work on several
// processors (parallel), how much memory there is (headroom), words that the race detector does not
// see (relaxed), and what helps where the system refuses something (remedy).
//
// It knows nothing of Go's runtime, and uses no other wing.
package memory
