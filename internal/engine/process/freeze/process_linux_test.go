//go:build linux && (amd64 || arm64) && go1.26

package freeze

import (
	"bytes"
	"encoding/binary"
	"os"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestImageShowsTheMomentOfTheFork(t *testing.T) {
	nothingLeft(t)
	objects := make([][]byte, 5000)
	ranges := make([]Range, len(objects))
	for i := range objects {
		objects[i] = bytes.Repeat([]byte{byte(i)}, 1+i%9000)
		ranges[i] = Range{Addr: address(objects[i]), Len: uint64(len(objects[i]))}
	}
	p := takeForTest(t)
	for i := range objects {
		clear(objects[i])
	}
	got, err := p.Copy(ranges)
	require.NoError(t, err)
	require.NoError(t, p.Release())
	for i := range objects {
		require.True(t, bytes.Equal(bytes.Repeat([]byte{byte(i)}, 1+i%9000), got[i]), "object %d", i)
		require.Equal(t, ranges[i].Addr%16, address(got[i])%16, "alignment of object %d", i)
	}
	runtime.KeepAlive(objects)
}

// Writers stamp their words one after the other, on pages far apart. The stamps in a frozen image
// are of one moment: they never rise along a writer's order, and never differ by more than one.
func TestImageIsOfOneMoment(t *testing.T) {
	nothingLeft(t)
	const writers, words, stride = 4, 64, 1024
	var stop atomic.Bool
	var wg sync.WaitGroup
	areas := make([][]uint64, writers)
	for w := range areas {
		area := make([]uint64, words*stride)
		areas[w] = area
		wg.Go(func() {
			for stamp := uint64(1); !stop.Load(); stamp++ {
				for i := range words {
					atomic.StoreUint64(&area[i*stride], stamp)
				}
			}
		})
	}
	defer wg.Wait()
	defer stop.Store(true)
	moved := false
	var last uint64
	for range require.Rounds(5, 50) {
		p, err := Take()
		require.NoError(t, err)
		for _, area := range areas {
			var stamps [words]uint64
			for i := range stamps {
				var word [8]byte
				require.NoError(t, p.read(addressOf(&area[i*stride]), word[:]))
				stamps[i] = binary.NativeEndian.Uint64(word[:])
			}
			for i := 1; i < words; i++ {
				require.LessOrEqual(t, stamps[i], stamps[i-1], "word %d is ahead of the one before it: %v", i, stamps)
			}
			require.LessOrEqual(t, stamps[0]-stamps[words-1], uint64(1), "%v", stamps)
			moved = moved || stamps[0] != last
			last = stamps[0]
		}
		require.NoError(t, p.Close())
	}
	assert.True(t, moved, "the writers stood still all the time")
}

func TestCaller(t *testing.T) {
	p := takeForTest(t)
	pc, sp := p.Caller()
	f := runtime.FuncForPC(pc - 1)
	require.NotNil(t, f)
	assert.Regexp(t, `/freeze\.\(\*Process\)\.fork$|/freeze\.fork$`, f.Name())

	// runtime.g begins with the bounds of its stack (runtime/runtime2.go, go1.26 and go1.27).
	var stack [16]byte
	require.NoError(t, p.read(uint64(p.CallerG()), stack[:]))
	low, high := binary.NativeEndian.Uint64(stack[:8]), binary.NativeEndian.Uint64(stack[8:])
	assert.Less(t, low, uint64(sp))
	assert.Greater(t, high, uint64(sp))

	// amd64 calls leave the return address just below; on arm64 the callee's frame ends with it
	// elsewhere.
	if runtime.GOARCH == "amd64" {
		var word [8]byte
		require.NoError(t, p.read(uint64(sp)-8, word[:]))
		assert.Equal(t, uint64(pc), binary.NativeEndian.Uint64(word[:]))
	}
	assert.Positive(t, p.Pause())
}

func TestSeveralSnapshotsAtOnce(t *testing.T) {
	nothingLeft(t)
	value := make([]byte, 1<<16)
	var held []*Process
	for i := range 5 {
		value[0], value[len(value)-1] = byte(i), byte(i)
		held = append(held, takeForTest(t))
	}
	for i, p := range held {
		got, err := p.Copy([]Range{{Addr: address(value), Len: uint64(len(value))}})
		require.NoError(t, err)
		assert.EqualValues(t, i, got[0][0])
		assert.EqualValues(t, i, got[0][len(value)-1])
	}
}

func TestConcurrentUse(t *testing.T) {
	nothingLeft(t)
	before := runtime.GOMAXPROCS(0)
	text := []byte("shared by all snapshots")
	at := Range{Addr: address(text), Len: uint64(len(text))}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				p, err := Take()
				if !assert.NoError(t, err) {
					return
				}
				var users sync.WaitGroup
				for range 3 {
					users.Go(func() {
						got, err := p.Copy([]Range{at})
						if assert.NoError(t, err) {
							assert.Equal(t, text, got[0])
						}
						buf := make([]byte, len(text))
						assert.NoError(t, p.read(at.Addr, buf))
						assert.Equal(t, text, buf)
					})
				}
				users.Wait()
				assert.NoError(t, p.Close())
			}
		})
	}
	wg.Wait()
	assert.Equal(t, before, runtime.GOMAXPROCS(0))
}

func TestReleaseAndClose(t *testing.T) {
	nothingLeft(t)
	text := []byte("kept after release")
	at := Range{Addr: address(text), Len: uint64(len(text))}
	p := takeForTest(t)
	got, err := p.Copy([]Range{at})
	require.NoError(t, err)
	require.Len(t, children(t), 1)

	require.NoError(t, p.Release())
	require.NoError(t, p.Release())
	assert.Empty(t, children(t))
	assert.Equal(t, "kept after release", string(got[0]))

	_, err = p.Copy([]Range{at})
	assert.ErrorIs(t, err, errReleased)
	assert.ErrorIs(t, p.read(at.Addr, make([]byte, 1)), errReleased)

	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	_, err = p.Copy([]Range{at})
	assert.ErrorIs(t, err, errReleased)
	assert.ErrorIs(t, p.read(at.Addr, make([]byte, 1)), errReleased)
}

func TestSignalMaskRestored(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := blockedSignals(t)
	p := takeForTest(t)
	assert.Equal(t, before, blockedSignals(t))
	assert.NotContains(t, before, "ffff", "signals were blocked before")
	_ = p
}

func blockedSignals(t *testing.T) string {
	t.Helper()
	status, err := os.ReadFile("/proc/thread-self/status")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^SigBlk:\s*(\w+)$`).FindSubmatch(status)
	require.NotNil(t, line)
	return string(line[1])
}
