package observe

import (
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func bytesOf[T any](values ...T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}

func TestFindTimes(t *testing.T) {
	now := time.Now()
	since := now.Add(-time.Minute)
	at := now.Add(-10 * time.Second)
	type pair struct{ low, high uint32 }
	for _, test := range []struct {
		what  string
		mem   []byte
		found int
	}{
		{"time.Time", bytesOf(at, at), 2},
		{"time.Time without a monotonic reading", bytesOf(at.Round(0)), 1},
		{"time.Time of a second, in another zone", bytesOf(at.Truncate(time.Second).In(time.FixedZone("", 3600))), 1},
		{"seconds", bytesOf(at.Unix()), 1},
		{"milliseconds", bytesOf(at.UnixMilli()), 1},
		{"microseconds", bytesOf(at.UnixMicro()), 1},
		{"nanoseconds", bytesOf(at.UnixNano()), 1},
		{"seconds of 32 bits", bytesOf(pair{1, uint32(at.Unix())}, pair{uint32(at.Unix()), 1}), 2},
		{"later", bytesOf(now.Add(time.Hour)), 0},
		{"earlier", bytesOf(now.Add(-time.Hour)), 0},
		{"of long ago", bytesOf(time.Unix(0, 0), time.Time{}), 0},
		{"durations", bytesOf(time.Second, time.Hour, -time.Second), 0},
		{"pointers", bytesOf(&now, &at), 0},
		{"small numbers", bytesOf(0, 1, -1, 1e9, 1e18), 0},
	} {
		found, earliest := findTimes(test.mem, since, now)
		require.Equal(t, test.found, found, test.what)
		if found > 0 {
			require.True(t, at.Sub(earliest).Abs() <= time.Second, test.what)
		}
	}
}
