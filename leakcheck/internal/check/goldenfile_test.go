package check

import (
	"testing"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A file that allows more than is retained is noted, unless another of its lines is exceeded.
func TestImprovements(t *testing.T) {
	file, err := golden.Parse("x.golden", []byte("leakgate golden v1\n\n4 40 app.a T\n4 40 app.b T\n4 40 app.c T\n"))
	require.NoError(t, err)
	for want, objects := range map[string][3]int64{
		"": {4, 4, 4},
		"x.golden: less is retained than 1 line allows; an update would tighten it": {4, 3, 4},
		"x.golden: less is retained than 2 lines allow; an update would tighten it": {3, 4, 0},
	} {
		c := &Comparison{Shown: "x.golden", File: file}
		compare := func() {
			var measured []golden.Measurement
			for i, path := range []string{"app.a", "app.b", "app.c"} {
				measured = append(measured, golden.Measurement{Path: path, Type: "T", Objects: objects[i], Bytes: 10 * objects[i]})
			}
			c.Compare(measured)
		}
		compare()
		assert.Equal(t, want, c.Improvements())
		assert.Equal(t, want != "", c.Tighter() != "")
		objects[0] = 5
		compare()
		assert.Empty(t, c.Improvements())
	}
}
