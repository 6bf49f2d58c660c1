package drive

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
)

func mark(call int, function string) string {
	return fmt.Sprintf("\n%s%d %s\n", repeat.Mark, call, function)
}

// Pieces of output may end anywhere, even within a mark.
func TestOutputInPieces(t *testing.T) {
	text := "before" + mark(1, "TestA") + "a\x00b\n" + mark(2, "TestB") + "from b"
	for size := 1; size <= len(text); size++ {
		var o output
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			_, err := o.Write([]byte(rest[:n]))
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.Equal(t, "before", o.of(0), "pieces of %d", size)
		require.Equal(t, "a\x00b", o.of(1), "pieces of %d", size)
		require.Equal(t, "from b", o.last(), "pieces of %d", size)
		require.Equal(t, "TestB", o.function, "pieces of %d", size)
	}
}

// Of much output the start and the end are kept, and of many calls the first ones and the last.
func TestOutputIsBounded(t *testing.T) {
	var o output
	write := func(text string) {
		_, err := o.Write([]byte(text))
		require.NoError(t, err)
	}
	write(mark(1, "TestA") + "start")
	for range 1000 {
		write(strings.Repeat("x", 10000))
	}
	write("end")
	got := o.of(1)
	require.LessOrEqual(t, len(got), 4*maxOutput)
	require.True(t, strings.HasPrefix(got, "start") && strings.HasSuffix(got, "end"))

	for call := 2; call < 3*keptCalls; call++ {
		write(mark(call, "TestA") + "one")
	}
	require.LessOrEqual(t, len(o.calls), keptCalls+2)
	require.Equal(t, "one", o.of(2))
	require.Equal(t, "one", o.last())
}

// Text that begins like a mark and never ends is output.
func TestOutputNoMark(t *testing.T) {
	var o output
	_, err := o.Write([]byte(repeat.Mark + strings.Repeat("y", 2*maxOutput)))
	require.NoError(t, err)
	require.Contains(t, o.last(), "yyy")
}
