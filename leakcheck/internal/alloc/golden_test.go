package alloc

import (
	"testing"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// A golden file has the sizes that each call allocates, and not a stray object of another size.
func TestGoldenBytes(t *testing.T) {
	for name, c := range map[string]struct {
		sizes map[int64]int64
		want  golden.Measurement
	}{
		"one size":        {map[int64]int64{16: 200}, golden.Measurement{Objects: 2, Bytes: 32}},
		"a stray object":  {map[int64]int64{16: 200, 1024: 1}, golden.Measurement{Objects: 2, Bytes: 32}},
		"two sizes":       {map[int64]int64{16: 100, 48: 100}, golden.Measurement{Objects: 2, Bytes: 64, BytesTolerance: 100}},
		"in turn":         {map[int64]int64{16: 50, 48: 50}, golden.Measurement{Objects: 1, Bytes: 32, BytesTolerance: 100}},
		"one and a third": {map[int64]int64{16: 100, 48: 80}, golden.Measurement{Objects: 2, Bytes: 54, BytesTolerance: 100}},
	} {
		r := &row{line: "op.untyped", sizes: c.sizes}
		for size, n := range c.sizes {
			r.objects += n
			r.bytes += n * size
			r.size = size
		}
		if len(c.sizes) > 1 {
			r.size = 0
		}
		c.want.Path = "op.untyped"
		assert.Equal(t, []golden.Measurement{c.want}, (&recording{calls: 100, rows: []*row{r}}).lines(writtenUp), name)
	}
}
