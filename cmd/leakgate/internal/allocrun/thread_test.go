package allocrun

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/alloctrace"
)

func TestStacksOfThreads(t *testing.T) {
	classes := []int64{0, 8, 16, 1024, 1152, 1280, 2048}
	count := func(typ uintptr, name string, size, objects int64) *alloctrace.Count {
		return &alloctrace.Count{Type: typ, Name: name, TypeSize: 8, Size: size, Objects: objects}
	}
	got := withThreadsApart([]*alloctrace.Count{
		count(1, "uintptr", 1024, 7), count(1, "uintptr", 1152, 5), count(2, "int", 1152, 3), count(3, "runtime.mPadded", 2048, 2),
	}, classes)
	require.Equal(t, []*alloctrace.Count{
		count(1, "uintptr", 1024, 7), count(3, "runtime.mPadded", 1152, 4), count(1, "uintptr", 1152, 1), count(2, "int", 1152, 3), count(3, "runtime.mPadded", 2048, 2),
	}, got)

	alone := []*alloctrace.Count{count(1, "uintptr", 1152, 5)}
	require.Equal(t, alone, withThreadsApart(alone, classes))
}
