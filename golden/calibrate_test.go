package golden

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func runOf(ms ...Measurement) *File { return New(ms) }

func TestCalibrateWritesTheTightestBoundsThatHold(t *testing.T) {
	at := func(path string, objects, bytes int64, tolerance int) Measurement {
		return Measurement{Path: path, Type: "T", Objects: objects, Bytes: bytes, BytesTolerance: tolerance}
	}
	runs := []*File{
		runOf(at("app.a", 3, 48, 0), at("app.b", 1, 100, 10), at("app.c[*]", 5, 0, 0), at("app.d.x", 1, 8, 0), at("app.d.y", 1, 8, 0), at("app.e", 7, 7, 0)),
		runOf(at("app.a", 3, 48, 0), at("app.b", 1, 105, 10), at("app.c[*]", 9, 0, 0), at("app.d.x", 2, 16, 0), at("app.e", 9, 9, 0), at("app.f", 1, 64, 0)),
	}
	f, err := Parse("x.golden", []byte(`leakgate golden v1
# objects         bytes  path                                              type

# kept
       10           160  app.a                                             T
    <=100             *  app.d.**                                          *  # a human's
        *             *  app.e                                             T
        1             8  app.gone                                          T
`))
	require.NoError(t, err)
	g, changes := Calibrate(f, runs)
	require.Equal(t, `leakgate golden v1
# objects         bytes  path                                              type

# kept
        3            48  app.a                                             T
        1       105~10%  app.b                                             T  # seen 1..1 objects, 100..105 bytes in 2 runs
      <=9             0  app.c[*]                                          T  # seen 5..9 objects, 0..0 bytes in 2 runs
        2             *  app.d.**                                          *  # a human's
        *             *  app.e                                             T  # seen 7..9 objects, 7..9 bytes in 2 runs
      <=1          <=64  app.f                                             T  # seen 0..1 objects, 0..64 bytes in 2 runs
`, string(g.Bytes()))
	var kinds []string
	for _, c := range changes {
		kinds = append(kinds, string(c.Kind)+" "+c.entry().Path)
	}
	require.Equal(t, []string{"tightened app.a", "added app.b", "added app.c[*]", "tightened app.d.**", "added app.f", "removed app.gone"}, kinds)

	for _, run := range runs {
		for _, d := range g.Compare(run.measurements()) {
			require.False(t, d.Failure(), "%s", d)
		}
	}
	again, changes := Calibrate(g, runs)
	require.Empty(t, changes)
	require.Equal(t, string(g.Bytes()), string(again.Bytes()))

	// If the runs agree, the comment of an earlier calibration goes.
	calm, _ := Calibrate(g, []*File{runs[0], runs[0]})
	require.NotContains(t, string(calm.Bytes()), "seen")
	fresh, changes := Calibrate(nil, runs[:1])
	require.Equal(t, string(runs[0].Bytes()), string(fresh.Bytes()))
	require.Len(t, changes, 6)
}

func TestChangesSayWhatIsWidened(t *testing.T) {
	parse := func(lines string) *File {
		f, err := Parse("x", []byte("leakgate golden v1\n"+lines))
		require.NoError(t, err)
		return f
	}
	before := parse("1 8 a T\n5 * b T\n5 5 c T\n<=5 5 d T\n5 5 e T\n")
	got := make(map[string]ChangeKind)
	for _, c := range Changes(before, parse("2 4 a T\n5 8 b T\n* 5 c T\n5 5 d T\n5 5 e T\n")) {
		got[c.After.Path] = c.Kind
	}
	require.Equal(t, map[string]ChangeKind{"a": Widened, "b": Tightened, "c": Widened, "d": Tightened}, got)
}
