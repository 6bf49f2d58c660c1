package nativestack

import (
	"bytes"
	"testing"

	"github.com/leakgate/leakgate/internal/require"
)

func TestAnswer(t *testing.T) {
	a := &Answer{
		Places: []Place{
			{1 << 47, []Frame{{"inner", "/a b/x.c", 3}, {"outer\tof", "", 0}}},
			{7, []Frame{{"f", "x", 1}}},
		},
		Base: []byte("base\n\t\n"), Last: []byte{0, '\n', 255},
	}
	var b bytes.Buffer
	_, err := a.WriteTo(&b)
	require.NoError(t, err)
	text := b.Bytes()
	got, err := Parse(text)
	require.NoError(t, err)
	a.Places[0].Frames[1].Func = "outer of"
	require.Equal(t, a, got)
	for i := range text {
		_, err := Parse(text[:i])
		require.Error(t, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("1\tf\tx.c\t3\n1\t1\nab"))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		_, err = a.WriteTo(&b)
		require.NoError(t, err)
		again, err := Parse(b.Bytes())
		require.NoError(t, err)
		require.Equal(t, a, again)
	})
}
