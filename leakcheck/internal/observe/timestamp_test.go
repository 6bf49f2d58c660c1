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
		var s stretch
		s.find(test.mem, since.Unix(), now.Unix())
		require.Equal(t, int64(test.found), s.found, test.what)
		if s.found > 0 {
			require.Equal(t, []int64{at.Unix(), at.Unix()}, []int64{s.first, s.last}, test.what)
		}
	}
}

// Entries that may expire are told by recent times, and by times ahead that are as close to each
// other as the calls that wrote them.
func TestTimes(t *testing.T) {
	const now = 2_000_000_000
	q := &ContentQuery{Since: time.Unix(now-10, 0), now: time.Unix(now, 0)}
	at := func(seconds int64) int64 { return now + seconds }
	for _, test := range []struct {
		recent, ahead stretch
		objects       int64
		recently      bool
		expires       time.Duration
	}{
		{stretch{4, at(-3), now}, stretch{}, 4, true, 0},
		{stretch{}, stretch{4, at(3595), at(3600)}, 4, false, time.Hour},
		{stretch{2, at(-1), now}, stretch{2, at(1), at(2)}, 4, false, 2 * time.Second},
		{stretch{4, at(-3), now}, stretch{4, at(86000), at(86010)}, 4, true, 0},
		{stretch{}, stretch{4, at(1), at(3600)}, 4, false, 0},
		{stretch{}, stretch{3, at(1), at(2)}, 4, false, 0},
		{stretch{}, stretch{}, 0, false, 0},
	} {
		times := &Times{recent: test.recent, ahead: test.ahead, objects: test.objects}
		require.Equal(t, test.recently, times.Recent(), test)
		require.Equal(t, test.expires, times.Expires(q), test)
	}
}
