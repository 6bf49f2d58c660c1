package golden

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func parseText(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("test.golden", []byte(text))
	require.NoError(t, err)
	return f
}

func TestTightenIsARatchet(t *testing.T) {
	f := parseText(t, `leakgate golden v1
# The team's file.

10 4096~10% app.cache T # evicted
5 100 app.gone T
<=7 * app.limit T
3 30 app.sessions T
# Never more than two.
2 20 app.two T
* * app.**  *
`)
	once := parseText(t, `leakgate golden v1
8 1000~10% app.cache T
9 9 app.new T
<=7 * app.limit T
4 10 app.sessions T
1 20 app.two T
`)
	again := parseText(t, `leakgate golden v1
9 900~10% app.cache T
3 12 app.sessions T
2 20 app.two T
`)
	g, changes := f.Tighten(once, again)
	var said []string
	for _, c := range changes {
		said = append(said, c.String())
	}
	require.Equal(t, []string{
		"tightened  app.cache T: objects 10 -> 9, bytes 4096~10% -> 1000~10%",
		"removed    app.gone T: objects 5, bytes 100",
		"tightened  app.sessions T: bytes 30 -> 12",
	}, said)
	require.Equal(t, string(parseText(t, `leakgate golden v1
# The team's file.

* * app.** *
9 1000~10% app.cache T # evicted
<=7 * app.limit T
3 12 app.sessions T
# Never more than two.
2 20 app.two T
`).Bytes()), string(g.Bytes()))

	same, none := g.Tighten(once, again)
	require.Empty(t, none)
	require.Equal(t, string(g.Bytes()), string(same.Bytes()))
	same, none = f.Tighten()
	require.Empty(t, none)
	require.Equal(t, string(f.Bytes()), string(same.Bytes()))
}

// A file that Tighten makes of an update never allows more than the original, and fits the
// measurements.
func TestTightenOfAnUpdate(t *testing.T) {
	f := parseText(t, "leakgate golden v1\n10 100 app.a T\n3~50% 30 app.b T\n<=9 <=1KiB app.c T\n1 1 app.d T\n")
	ms := []Measurement{
		{Path: "app.a", Type: "T", Objects: 4, Bytes: 100},
		{Path: "app.b", Type: "T", Objects: 1, Bytes: 8},
	}
	updated, _ := f.Update(ms)
	g, changes := f.Tighten(updated)
	require.Len(t, changes, 3)
	require.Empty(t, g.Compare(ms))
}
