package refscan_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan"
)

// soakRounds is 15, or what LEAKGATE_SOAK says.
func soakRounds(t *testing.T) int {
	if s := os.Getenv("LEAKGATE_SOAK"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err, "LEAKGATE_SOAK")
		return n
	}
	if testing.Short() {
		return 3
	}
	return 15
}

// load keeps system calls, timers, the allocator and HTTP traffic on loopback going until stop is
// closed.
func load(t *testing.T, stop <-chan struct{}) *sync.WaitGroup {
	var wg sync.WaitGroup
	work := func(f func()) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f()
				}
			}
		})
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	t.Cleanup(srv.Close)
	for range 2 {
		work(func() {
			if resp, err := http.Get(srv.URL); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	zero, err := os.Open("/dev/zero")
	require.NoError(t, err)
	t.Cleanup(func() { zero.Close() })
	buf := make([]byte, 64)
	work(func() { _, _ = syscall.Read(int(zero.Fd()), buf) })
	work(func() { time.Sleep(50 * time.Microsecond) })
	work(func() {
		garbage := make([][]byte, 0, 16)
		for i := range 100 {
			garbage = append(garbage, make([]byte, 10*i))
		}
		runtime.KeepAlive(garbage)
	})
	work(func() { time.AfterFunc(time.Millisecond, func() {}).Reset(time.Microsecond); runtime.Gosched() })
	return &wg
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// Snapshots under load neither crash nor hang nor leave anything behind, and every one can be scanned.
func TestSoak(t *testing.T) {
	stop := make(chan struct{})
	wg := load(t, stop)
	scan(t) // opens what stays open
	procs := runtime.GOMAXPROCS(0)
	var worst time.Duration
	extra := int64(0)
	for range soakRounds(t) {
		s, err := refscan.Capture()
		require.NoError(t, err)
		r, err := s.Scan()
		require.NoError(t, err)
		worst = max(worst, r.Pause)
		extra += r.Totals.ExtraBytes
		require.NoError(t, s.Close())
	}
	close(stop)
	wg.Wait()
	t.Logf("longest pause %v", worst)
	require.Zero(t, extra)
	require.Equal(t, procs, runtime.GOMAXPROCS(0))
	http.DefaultClient.CloseIdleConnections()
	before := openFiles(t)
	for range 3 {
		scan(t)
	}
	require.LessOrEqual(t, openFiles(t), before, "descriptors")
	var status syscall.WaitStatus
	_, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WALL, nil)
	require.ErrorIs(t, err, syscall.ECHILD, "a child was left behind")
}
