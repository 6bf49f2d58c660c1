//go:build unix

package debuginfo

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func unmapMemory(t *testing.T, b []byte) { require.NoError(t, syscall.Munmap(b)) }
