//go:build linux && (amd64 || arm64) && go1.26

package freeze

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestSoak takes LEAKGATE_SOAK snapshots (10 by default, 60 where slow tests run) of a busy
// program and checks each.
func TestSoak(t *testing.T) {
	snapshots := require.Rounds(10, 60)
	if s := os.Getenv("LEAKGATE_SOAK"); s != "" {
		var err error
		snapshots, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	nothingLeft(t)
	processors := runtime.GOMAXPROCS(0)

	load := newLoad(t)
	stopped := false
	defer func() {
		if !stopped {
			load.stop()
		}
	}()
	text := bytes.Repeat([]byte("unchanging "), 10_000)
	serial := make([]uint64, 1000)
	ranges := []Range{
		{Addr: address(text), Len: uint64(len(text))},
		{Addr: addressOf(&serial[0]), Len: uint64(8 * len(serial))},
		{Addr: addressOf(&load.stamps[0]), Len: uint64(8 * len(load.stamps))},
		{Addr: 0, Len: 8},
	}
	pauses := make([]time.Duration, 0, snapshots)
	for i := range snapshots {
		for j := range serial {
			serial[j] = uint64(i)
		}
		p, err := Take()
		require.NoError(t, err, "snapshot %d", i)
		clear(serial)
		got, err := p.Copy(ranges)
		require.NoError(t, err, "snapshot %d", i)
		if i%2 == 0 {
			require.NoError(t, p.Release())
		}
		require.True(t, bytes.Equal(text, got[0]), "snapshot %d", i)
		for j := range serial {
			require.EqualValues(t, i, binary.NativeEndian.Uint64(got[1][8*j:]), "snapshot %d, word %d", i, j)
		}
		before := binary.NativeEndian.Uint64(got[2])
		for j := stampStride; j < len(load.stamps); j += stampStride {
			stamp := binary.NativeEndian.Uint64(got[2][8*j:])
			require.True(t, stamp == before || stamp == before-1, "snapshot %d: stamp %d is %d after %d", i, j, stamp, before)
			before = stamp
		}
		require.Empty(t, got[3])
		require.NoError(t, p.Close())
		pauses = append(pauses, p.Pause())
	}
	assert.Equal(t, processors, runtime.GOMAXPROCS(0))
	load.stop()
	stopped = true
	runtime.KeepAlive(text)

	slices.Sort(pauses)
	t.Logf("%s, %d snapshots; pause: median %v, 99th percentile %v, max %v", runtime.Version(), snapshots,
		pauses[len(pauses)/2], pauses[len(pauses)*99/100], pauses[len(pauses)-1])
	t.Logf("meanwhile: %d requests, %d pipe messages, %d timers, %d allocations, %d collections",
		load.requests.Load(), load.messages.Load(), load.timers.Load(), load.allocations.Load(), load.collections.Load())
	for name, n := range map[string]*atomic.Int64{
		"requests": &load.requests, "messages": &load.messages, "timers": &load.timers,
		"allocations": &load.allocations, "collections": &load.collections,
	} {
		assert.Positive(t, n.Load(), "the load stood still: %s", name)
	}
}

// stampStride is in words: stamps lie on pages of their own.
const stampStride = 1024

// load is a busy program: loopback HTTP, blocking system calls on pipes, timers, allocation and
// collections, and one goroutine that never pauses.
type load struct {
	quit   atomic.Bool
	wg     sync.WaitGroup
	server *httptest.Server
	stamps []uint64 // written in turn, with rising numbers

	requests, messages, timers, allocations, collections atomic.Int64
}

func newLoad(t *testing.T) *load {
	l := &load{stamps: make([]uint64, 32*stampStride)}
	l.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	for range 4 {
		l.run(func() { l.request(t) })
	}
	for range 2 {
		var ends [2]int
		require.NoError(t, syscall.Pipe2(ends[:], syscall.O_CLOEXEC))
		l.wg.Go(func() { l.write(t, ends[1]) })
		l.wg.Go(func() { l.read(ends[0]) })
	}
	var kept [64][]*[8]uint64
	l.run(func() {
		n := l.allocations.Add(1)
		objects := make([]*[8]uint64, 100)
		for i := range objects {
			objects[i] = &[8]uint64{uint64(n)}
		}
		kept[n%int64(len(kept))] = objects
	})
	l.run(func() {
		runtime.GC()
		l.collections.Add(1)
		time.Sleep(5 * time.Millisecond)
	})
	l.run(func() {
		fired := make(chan struct{})
		timer := time.AfterFunc(50*time.Microsecond, func() { close(fired) })
		<-fired
		timer.Stop()
		l.timers.Add(1)
	})
	var stamp uint64
	l.run(func() {
		stamp++
		for i := 0; i < len(l.stamps); i += stampStride {
			atomic.StoreUint64(&l.stamps[i], stamp)
		}
	})
	return l
}

// run repeats a step until stop is called.
func (l *load) run(step func()) {
	l.wg.Go(func() {
		for !l.quit.Load() {
			step()
		}
	})
}

func (l *load) request(t *testing.T) {
	response, err := l.server.Client().Post(l.server.URL, "text/plain", bytes.NewReader(make([]byte, 2000)))
	if !assert.NoError(t, err) {
		l.quit.Store(true)
		return
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if assert.NoError(t, err) && assert.Len(t, body, 2000) {
		l.requests.Add(1)
	}
}

func (l *load) write(t *testing.T, pipe int) {
	defer syscall.Close(pipe)
	for !l.quit.Load() {
		_, err := syscall.Write(pipe, make([]byte, 100))
		if err != nil && !assert.ErrorIs(t, err, syscall.EINTR) {
			return
		}
	}
}

func (l *load) read(pipe int) {
	defer syscall.Close(pipe)
	buf := make([]byte, 1000)
	for {
		n, err := syscall.Read(pipe, buf)
		if n == 0 || err != nil && err != syscall.EINTR {
			return
		}
		l.messages.Add(1)
	}
}

func (l *load) stop() {
	l.quit.Store(true)
	l.wg.Wait()
	l.server.Client().CloseIdleConnections()
	l.server.Close()
}
