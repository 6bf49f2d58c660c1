package nativestack

import (
	"bytes"
	"testing"

	"github.com/leakgate/leakgate/internal/require"
)

func TestAnswer(t *testing.T) {
	a := &Answer{
		Lines: []Line{{false, "   inner", "/a b/x.c", 3}, {true, "outer\tof", "", 0}},
		Base:  []byte("base\n\t\n"), Last: []byte{0, '\n', 255},
	}
	var b bytes.Buffer
	_, err := a.WriteTo(&b)
	require.NoError(t, err)
	text := b.String()
	got, err := Parse(text)
	require.NoError(t, err)
	a.Lines[1].Text = "outer of"
	require.Equal(t, a, got)
	for i := range text {
		_, err := Parse(text[:i])
		require.Error(t, err)
	}
}

func TestGrown(t *testing.T) {
	for want, s := range map[[2]float64]Stack{
		{2, 20}:   {Base: Amount{5, 50}, Last: Amount{25, 250}},
		{0, 0}:    {Last: Amount{0, 100}},
		{0, 64}:   {Base: Amount{1, 64}, Last: Amount{1, 704}},
		{0.1, 10}: {Last: Amount{1, 100}},
	} {
		blocks, size := s.Grown(10)
		require.Equal(t, want, [2]float64{blocks, size})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("true\tf\tx.c\t3\n1\t1\nab")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		_, err = a.WriteTo(&b)
		require.NoError(t, err)
		again, err := Parse(b.String())
		require.NoError(t, err)
		require.Equal(t, a, again)
	})
}
