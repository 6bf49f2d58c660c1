package observe

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// A query asks at paths; descriptors also by where goroutines were started. The first that asks for
// times at a path gets them.
func TestContentQuery(t *testing.T) {
	q := &ContentQuery{}
	assert.Nil(t, q.OrNil())
	q.AddTimes("app.cache[*]", "example.com/app.cache[*]", "of cache")
	q.AddTimes("again", "example.com/app.cache[*]", "")
	assert.Same(t, q, q.OrNil())
	q.AddHandles("example.com/app.run.f", "a.go:1", []uintptr{8})
	q.AddHandles("example.com/app.run.f", "a.go:2", []uintptr{16})
	for _, c := range []struct {
		path, createdAt string
		times           *Times
		handles         *Handles
	}{
		{"example.com/app.cache[*]", "", &q.Times[0], nil},
		{"example.com/app.cache[*]", "a.go:1", &q.Times[0], nil},
		{"example.com/app.cache", "", nil, nil},
		{"example.com/app.run.f", "a.go:1", nil, &q.Handles[0]},
		{"example.com/app.run.f", "a.go:2", nil, &q.Handles[1]},
		{"example.com/app.run.f", "", nil, nil},
	} {
		assert.Equal(t, asked{c.times, c.handles}, q.of(c.path, c.createdAt), c.path+c.createdAt)
	}
	assert.Equal(t, "of cache", q.Times[0].Of)
	only := &ContentQuery{}
	only.AddHandles("x", "", nil)
	assert.Same(t, only, only.OrNil())
}

// Descriptors are read at their offsets, as far as an object has them.
func TestReadHandles(t *testing.T) {
	mem := make([]byte, 24)
	for i := range 3 {
		binary.LittleEndian.PutUint64(mem[8*i:], uint64(10+i))
	}
	h := &Handles{offsets: []uintptr{16, 0, 17}}
	h.read(mem)
	h.read(mem[:23])
	h.read(nil)
	assert.Equal(t, []int{12, 10, 10}, h.Numbers)
}

// Of the objects at a path times are read: recent ones, and those up to a day ahead.
func TestReadTimes(t *testing.T) {
	const now = 2_000_000_000
	q := &ContentQuery{Since: time.Unix(now-10, 0), now: time.Unix(now, 0)}
	mem := bytesOf[int64](now-11, now-10, now, now+1, now+mostAhead, now+mostAhead+1)
	var times Times
	times.read(mem, 2, q)
	assert.Equal(t, Times{recent: stretch{2, now - 10, now}, ahead: stretch{2, now + 1, now + mostAhead}, objects: 2, bytes: 48}, times)
	times.read(mem[:8], 1, q)
	assert.Equal(t, []int64{3, 56, 2}, []int64{times.objects, times.bytes, times.recent.found})
	large := append(make([]byte, maxTimesRead), bytesOf[int64](now)...)
	times.read(large, 1, q)
	assert.Equal(t, []int64{2, 56 + maxTimesRead + 8}, []int64{times.recent.found, times.bytes}, "what lies behind a part of it is not read")
}
