package textfmt

import (
	"math"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestByteCount(t *testing.T) {
	for n, want := range map[int64]string{
		0:             "0 B",
		1023:          "1023 B",
		1024:          "1.0 KiB",
		-1536:         "-1.5 KiB",
		1 << 30:       "1.0 GiB",
		math.MaxInt64: "8589934592.0 GiB",
		math.MinInt64: "-8589934592.0 GiB",
	} {
		assert.Equal(t, want, ByteCount(n))
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{
		0:             "0",
		-999:          "-999",
		1000:          "1,000",
		-1234567:      "-1,234,567",
		math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		assert.Equal(t, want, Count(n))
	}
	assert.Equal(t, "1 entry", CountNoun(1, "entry"))
	assert.Equal(t, "2,000 entries", CountNoun(2000, "entry"))
}
