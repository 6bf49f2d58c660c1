package nativeheap

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestUnknownLibraries checks the causes for which a heap cannot be read.
func TestUnknownLibraries(t *testing.T) {
	area := func(name string) Area { return Area{Start: 0x1000, End: 0x2000, Writable: true, Name: name} }
	for _, c := range []struct {
		areas []Area
		cause string
	}{
		{[]Area{area("/lib/ld-musl-x86_64.so.1")}, "the C library is musl"},
		{[]Area{area("/lib/libc.so.6"), area("/usr/lib/libjemalloc.so.2")}, "malloc is jemalloc"},
		{[]Area{area("/lib/libc.so.6"), area("/usr/lib/libtcmalloc_minimal.so.4")}, "malloc is tcmalloc"},
		{[]Area{area("/lib/libc.so.6"), area("/usr/lib/libasan.so.8")}, "malloc is AddressSanitizer's"},
		{[]Area{area("/app"), area("[heap]")}, "the C library is linked into the program (-static), of which no variables are found"},
		{[]Area{area("/app"), area("/lib/libc.so.6")}, "the process has a C library and no heap of brk(2), which glibc's malloc begins with"},
		{[]Area{area("/app"), area("")}, ErrNone.Error()},
	} {
		_, err := heapOf(nil, c.areas, &Places{})
		require.EqualError(t, err, c.cause)
	}
}
