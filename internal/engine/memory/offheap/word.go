//go:build !race || !amd64 || instrumented

package offheap

import "sync/atomic"

// Load32 reads a word.
func Load32(p *uint32) uint32 { return atomic.LoadUint32(p) }

// Store32 writes a word.
func Store32(p *uint32, word uint32) { atomic.StoreUint32(p, word) }

// Load64 reads a word.
func Load64(p *uint64) uint64 { return atomic.LoadUint64(p) }
