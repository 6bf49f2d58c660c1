//go:build cgo && linux && (amd64 || arm64)

package ownmalloc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
)

// TestOwnMalloc checks that glibc's heap does not count as the heap of C code here.
func TestOwnMalloc(t *testing.T) {
	require.NotNil(t, Malloc(1000))
	_, err := nativeheap.Take()
	var unknown *nativeheap.UnknownError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "malloc is the program's own", unknown.Cause)
}
