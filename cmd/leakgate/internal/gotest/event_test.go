package gotest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestReadTellsEventsFromText(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	input := `{"Action":"output","Package":"p","Test":"T","Output":"` + long + `","OutputType":"frame","New":[1]}` + "\n" +
		"plain text\n" +
		`{"not":"an event"}` + "\n" +
		`{"Action":"build-fail","ImportPath":"p [p.test]"}` + "\n" +
		`{"Action":"fail","Pack`
	var lines, actions []string
	err := Read(strings.NewReader(input), func(line []byte, ev *Event) error {
		lines = append(lines, string(line))
		if ev == nil {
			actions = append(actions, "")
			return nil
		}
		actions = append(actions, ev.Action+" "+ev.Package+ev.ImportPath)
		if ev.Action == "output" {
			require.Len(t, ev.Output, 1<<20)
			require.Equal(t, "frame", ev.OutputType)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, input, strings.Join(lines, ""), "lines are as they were")
	require.Equal(t, []string{"output p", "", "", "build-fail p [p.test]", ""}, actions)
}

func TestReadReturnsErrors(t *testing.T) {
	broken := errors.New("broken")
	err := Read(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), func([]byte, *Event) error { return nil })
	require.ErrorIs(t, err, broken)
	calls := 0
	err = Read(strings.NewReader("a\nb\n"), func([]byte, *Event) error { calls++; return broken })
	require.ErrorIs(t, err, broken)
	require.Equal(t, 1, calls)
}
