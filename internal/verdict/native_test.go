package verdict

import (
	"bytes"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestNativeAnswer(t *testing.T) {
	a := &NativeAnswer{
		Lines: []NativeLine{{false, "   inner", "/a b/x.c:3"}, {true, "outer\tof", ""}},
		Base:  "base\n\t\n", Last: string([]byte{0, '\n', 255}),
	}
	var b bytes.Buffer
	_, err := a.WriteTo(&b)
	require.NoError(t, err)
	text := b.String()
	got, err := ParseNativeAnswer(text)
	require.NoError(t, err)
	a.Lines[1].Text = "outer of"
	require.Equal(t, a, got)
	for i := range text {
		_, err := ParseNativeAnswer(text[:i])
		require.Error(t, err)
	}
}

func FuzzParseNativeAnswer(f *testing.F) {
	f.Add("true\tf\tx.c:3\n1\t1\nab")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseNativeAnswer(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		_, err = a.WriteTo(&b)
		require.NoError(t, err)
		again, err := ParseNativeAnswer(b.String())
		require.NoError(t, err)
		require.Equal(t, a, again)
	})
}
