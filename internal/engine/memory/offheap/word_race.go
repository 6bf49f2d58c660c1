//go:build race && amd64 && !instrumented

package offheap

// Load32 reads a word.
//
//go:norace
func Load32(p *uint32) uint32 { return *p }

// Store32 writes a word.
//
//go:norace
func Store32(p *uint32, word uint32) { *p = word }

// Load64 reads a word.
//
//go:norace
func Load64(p *uint64) uint64 { return *p }
