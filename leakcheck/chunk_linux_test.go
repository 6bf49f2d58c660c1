package leakcheck_test

import (
	"flag"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// A chunked is an allocator that maps memory for many blocks at once, and never gives one back.
type chunked struct {
	free   []byte
	chunks [][]byte
}

const (
	chunkSize = 64 << 20 // of address space: the test does not touch it
	blockSize = 64 << 10
)

func (c *chunked) block() []byte {
	if len(c.free) == 0 {
		chunk, err := syscall.Mmap(-1, 0, chunkSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
		if err != nil {
			panic(err)
		}
		c.free, c.chunks = chunk, append(c.chunks, chunk)
	}
	b := c.free[:blockSize:blockSize]
	c.free = c.free[blockSize:]
	return b
}

// Blocks of memory that is mapped in chunks are a leak if chunks are used up, and are not judged,
// which is said, if a chunk lasts for all calls.
func TestChunks(t *testing.T) {
	if ledger.Sanitized {
		t.Skip("with a sanitizer mapped memory is not judged")
	}
	verbose := flag.Lookup("test.v").Value
	before := verbose.String()
	require.NoError(t, verbose.Set("true")) // passes log what was not judged
	defer func() { require.NoError(t, verbose.Set(before)) }()
	for name, tt := range map[string]struct {
		takes time.Duration
		once  bool
		opts  []leakcheck.GrowthOption
		leak  bool
	}{
		"quick":         {leak: true},
		"in full":       {leak: true, opts: []leakcheck.GrowthOption{leakcheck.Full()}},
		"slow":          {takes: 5 * time.Millisecond},
		"the first one": {once: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.opts != nil {
				require.Slow(t)
			}
			c := &chunked{}
			defer func() {
				for _, chunk := range c.chunks {
					require.NoError(t, syscall.Munmap(chunk))
				}
			}()
			ft := &recordingT{name: t.Name()}
			passed := leakcheck.AssertNoGrowth(ft, func() {
				if !tt.once || c.free == nil {
					c.block()
				}
				time.Sleep(tt.takes)
			}, tt.opts...)
			require.Equal(t, !tt.leak, passed, ft.errors, ft.logs)
			if tt.leak {
				require.Contains(t, strings.Join(ft.errors, "\n"), "KiB/op: anonymous memory\n")
			} else {
				require.Contains(t, strings.Join(ft.logs, "\n"), "what op keeps of the memory that its first calls mapped")
			}
		})
	}
}
