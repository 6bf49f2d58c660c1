//go:build go1.26 && (amd64 || arm64)

package refscan_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// longSoak is the number of rounds from which on the share of verdicts is checked.
const longSoak = 3000

// soakRounds is the value of LEAKGATE_SOAK, longSoak with LEAKGATE_LONG, or else rounds.
func soakRounds(t *testing.T, rounds int) int {
	if s := os.Getenv("LEAKGATE_SOAK"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err, "LEAKGATE_SOAK")
		return n
	}
	if os.Getenv("LEAKGATE_LONG") != "" {
		return longSoak
	}
	return rounds
}

// load runs system calls, timers, allocations, growing stacks, other programs, garbage collections
// and HTTP traffic on loopback until stop is closed.
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
	work(func() {
		churned := make(map[int]*cargo)
		for i := range 100 {
			churned[i] = newCargo()
		}
		clear(churned)
	})
	work(func() {
		done := make(chan byte)
		go func() { done <- deepen(rand.N(1000)) }()
		<-done
		runtime.Gosched()
	})
	work(func() {
		_ = exec.Command("/bin/true").Run() // it need not exist
		time.Sleep(5 * time.Millisecond)
	})
	work(func() {
		runtime.GC()
		time.Sleep(rand.N(10 * time.Millisecond))
	})
	work(func() { time.AfterFunc(time.Millisecond, func() {}).Reset(time.Microsecond); runtime.Gosched() })
	return &wg
}

// deepen grows the stack by about 200 bytes for each level, so that the runtime moves it.
func deepen(levels int) byte {
	var room [128]byte
	if levels > 0 {
		room[levels%len(room)] = deepen(levels - 1)
	}
	return room[levels%64] + 1
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// soaked is what the working program keeps.
var soaked []*cargo

// Snapshots under load neither crash nor hang nor leave anything behind. Each reports exactly what
// the program keeps. It agrees with the collector, or says why it does not.
func TestSoak(t *testing.T) {
	require.Slow(t)
	const kept = 500
	for range kept {
		soaked = append(soaked, newCargo())
	}
	defer func() { soaked = nil }()
	scan(t) // opens descriptors that stay open
	stop := make(chan struct{})
	wg := load(t, stop)
	procs := runtime.GOMAXPROCS(0)
	var worst time.Duration
	unknown, rounds := 0, soakRounds(t, require.Rounds(1, 6))
	for i := range rounds {
		if i%100 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			t.Logf("%d rounds, unknown: %d, longest pause %v; resident: %d MB, heap: %d MB of %d, runtime: %d MB; descriptors: %d", i, unknown, worst,
				resident("VmRSS:")>>20, m.HeapInuse>>20, (m.HeapSys-m.HeapReleased)>>20, (m.Sys-m.HeapSys)>>20, openFiles(t))
		}
		r, err := scanned()
		if err != nil {
			require.ErrorContains(t, err, "garbage collections are under way all the time")
			unknown++
			continue
		}
		worst = max(worst, r.Pause)
		require.Zero(t, r.Totals.ExtraBytes)
		require.EqualValues(t, kept-10, at(t, r, "soaked", "[10+]").Objects)
		if r.Totals.MissedBytes > auditLimit(r.Totals) {
			require.True(t, r.Collections > 0 || r.Undecided, "it would be taken for a broken scan: %+v", r.Totals)
			unknown++
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("longest pause %v; unknown: %d of %d", worst, unknown, rounds)
	if rounds >= longSoak {
		require.LessOrEqual(t, unknown, rounds/100)
	}
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
