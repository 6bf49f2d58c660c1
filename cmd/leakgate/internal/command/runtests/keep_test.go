package runtests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizeFlag(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "17": 17, "64KiB": 64 << 10, "200MiB": 200 << 20, "2GiB": 2 << 30} {
		var s size
		require.NoError(t, s.Set(text))
		require.Equal(t, want, int64(s))
		require.Equal(t, text, s.String())
	}
	for _, text := range []string{"", "-1", "1.5MiB", "MiB", "10MB", "9999999999GiB"} {
		require.Error(t, new(size).Set(text), text)
	}
}
