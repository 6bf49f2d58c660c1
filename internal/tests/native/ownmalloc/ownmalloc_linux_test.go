//go:build cgo && linux && (amd64 || arm64)

package ownmalloc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/engine/nativeheap"
)

// TestOwnMalloc shows that what glibc's heap has is not taken for what C code has.
func TestOwnMalloc(t *testing.T) {
	require.NotNil(t, Malloc(1000))
	_, err := nativeheap.Take()
	var unknown *nativeheap.UnknownError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "malloc is the program's own", unknown.Cause)
}
