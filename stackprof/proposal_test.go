package stackprof_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/pprofwire"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/pproftest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/stackprof"
)

// park blocks until the test ends.
type park func()

// start runs goroutines until the test ends, and waits until all called their park.
func start(t *testing.T, goroutines ...func(park)) {
	t.Helper()
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	ready.Add(len(goroutines))
	for _, f := range goroutines {
		done.Add(1)
		go f(func() {
			ready.Done()
			<-release
			done.Done()
		})
	}
	ready.Wait()
	t.Cleanup(func() {
		close(release)
		done.Wait()
	})
}

// The goroutines of the proposal (golang/go issue 66566), with frames of a bit more than their
// names say.

//go:noinline
func oneThousand(p park) {
	var frame [1000]byte
	fill(&frame)
	p()
	runtime.KeepAlive(&frame)
}

//go:noinline
func twoThousand(p park) {
	var frame [2000]byte
	fill((*[1000]byte)(frame[500:]))
	p()
	runtime.KeepAlive(&frame)
}

//go:noinline
func threeThousand(p park) {
	var frame [3000]byte
	fill((*[1000]byte)(frame[500:]))
	p()
	runtime.KeepAlive(&frame)
}

//go:noinline
func fill(b *[1000]byte) {
	for i := range b {
		b[i] = byte(i)
	}
}

// take profiles this process and passes the result through the file format.
func take(t *testing.T) (*stackprof.Profile, *pproftest.Profile) {
	t.Helper()
	p, err := stackprof.Take()
	require.NoError(t, err)
	return p, roundTrip(t, p)
}

func roundTrip(t *testing.T, p *stackprof.Profile) *pproftest.Profile {
	t.Helper()
	var b bytes.Buffer
	n, err := p.WriteTo(&b)
	require.NoError(t, err)
	require.Equal(t, int64(b.Len()), n)
	parsed, err := pproftest.Parse(&b)
	require.NoError(t, err)
	return parsed
}

// values sums samples up by their path from the root, the functions' names without their packages.
func values(p *pproftest.Profile) map[string][3]int64 {
	out := make(map[string][3]int64)
	for _, s := range p.Sample {
		var names []string
		for i := len(s.Location) - 1; i >= 0; i-- {
			lines := s.Location[i].Line
			for j := len(lines) - 1; j >= 0; j-- {
				names = append(names, lines[j].Function.Name[strings.LastIndex(lines[j].Function.Name, "/")+1:])
			}
		}
		path := strings.Join(names, ";")
		v := out[path]
		for i := range v {
			v[i] += s.Value[i]
		}
		out[path] = v
	}
	return out
}

// topOf sums a profile that was read back up by function.
func topOf(p *pproftest.Profile) []stackprof.Function {
	var table pprofwire.FunctionTable
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
		}
		table.Add(names, s.Value[total], s.Value[goroutines])
	}
	return table.Functions()
}

func sum(p *pproftest.Profile) (out [3]int64) {
	for _, s := range p.Sample {
		for i := range out {
			out[i] += s.Value[i]
		}
	}
	return out
}

const inUse, total, goroutines = 0, 1, 2

func TestProposal(t *testing.T) {
	start(t, oneThousand, twoThousand, threeThousand, threeThousand)
	p, parsed := take(t)
	require.Len(t, parsed.SampleType, 3)
	got := values(parsed)
	// return address, saved registers, spills; more with -race and without optimisation
	const overhead = 200
	for _, f := range []struct {
		name  string
		frame int64
		count int64
	}{{"oneThousand", 1000, 1}, {"twoThousand", 2000, 1}, {"threeThousand", 3000, 2}} {
		root := "stackprof_test." + f.name
		flat := got[root]
		assert.Equal(t, flat[inUse], flat[total], f.name)
		assert.GreaterOrEqual(t, flat[total], f.count*f.frame, f.name)
		assert.Less(t, flat[total], f.count*(f.frame+overhead), f.name)

		free, ok := got[root+";runtime._FreeStack"]
		require.True(t, ok, "free stack is directly under the root function")
		assert.Zero(t, free[inUse])
		var whole, counted int64
		for path, v := range got {
			if path == root || strings.HasPrefix(path, root+";") {
				whole += v[total]
				counted += v[goroutines]
			}
		}
		assert.Equal(t, f.count, counted, f.name)
		want := int64(0)
		for _, g := range p.Stacks.Goroutines {
			for _, at := range g.Trace.Frames {
				if strings.HasSuffix(at.Func, "."+f.name) {
					want += g.Size()
				}
			}
		}
		assert.Equal(t, want, whole, f.name)
	}
}

// TestSums: the profile's sums are the runtime's own figures.
func TestSums(t *testing.T) {
	start(t, oneThousand, twoThousand)
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/os-stacks:bytes"}}
	for range 20 {
		p, parsed := take(t)
		got := sum(parsed)
		require.Zero(t, p.Stacks.Unattributed)
		require.Equal(t, p.Stacks.HeapBytes+p.Stacks.OSBytes, got[total])
		require.Equal(t, int64(len(p.Stacks.Goroutines)), got[goroutines])
		require.Less(t, got[inUse], got[total])
		if metrics.Read(sample); got[total] == int64(sample[0].Value.Uint64()+sample[1].Value.Uint64()) {
			return // in other tries some goroutine started or ended meanwhile
		}
	}
	require.Fail(t, "the sums never agreed with runtime/metrics")
}

// TestScale: what many goroutines take, and that their profile is no larger than that of one.
func TestScale(t *testing.T) {
	counts := []int{10_000}
	if os.Getenv("LEAKGATE_LONG") == "1" {
		counts = append(counts, 200_000)
	}
	for _, n := range counts {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			start(t, slices.Repeat([]func(park){oneThousand}, n)...)
			began := time.Now()
			p, err := stackprof.Take()
			taken := time.Now()
			require.NoError(t, err)
			parsed := roundTrip(t, p)
			t.Logf("%d goroutines, %d bytes: taken in %s, written and read in %s, world stopped for %s",
				n, p.Stacks.HeapBytes, taken.Sub(began), time.Since(taken), p.Stacks.Pause)
			require.Zero(t, p.Stacks.Unattributed)
			assert.Equal(t, p.Stacks.HeapBytes+p.Stacks.OSBytes, sum(parsed)[total])
			assert.Less(t, len(parsed.Sample), 500)
			top := topOf(parsed)
			for _, f := range top {
				if strings.HasSuffix(f.Name, ".oneThousand") {
					assert.Equal(t, int64(n), f.Goroutines)
					assert.GreaterOrEqual(t, f.Flat, int64(n)*1000)
					assert.GreaterOrEqual(t, f.Cum, int64(n)*2048)
					return
				}
			}
			assert.Fail(t, "the function is not in the table")
		})
	}
}

func TestOfSnapshot(t *testing.T) {
	start(t, threeThousand)
	snapshot, err := refscan.Capture(refscan.WithoutSettling())
	require.NoError(t, err)
	stacks, err := snapshot.Stacks()
	require.NoError(t, err)
	p := stackprof.New(stacks)
	require.NoError(t, snapshot.Close())
	parsed := roundTrip(t, p) // it needs the snapshot no more
	assert.GreaterOrEqual(t, values(parsed)["stackprof_test.threeThousand"][total], int64(3000))

	_, err = snapshot.Stacks()
	var unavailable *refscan.UnavailableError
	require.ErrorAs(t, err, &unavailable)
}

func TestLabels(t *testing.T) {
	labelled := func(tenant string) func(park) {
		return func(p park) {
			pprof.Do(context.Background(), pprof.Labels("tenant", tenant), func(context.Context) { oneThousand(p) })
		}
	}
	start(t, labelled("a"), labelled("a"), labelled("b"), oneThousand)
	_, parsed := take(t)
	flat := make(map[string]int64)
	for _, s := range parsed.Sample {
		if strings.HasSuffix(s.Location[0].Line[0].Function.Name, ".oneThousand") {
			flat[fmt.Sprint(s.Label["tenant"])] += s.Value[total]
		}
	}
	require.Len(t, flat, 3)
	assert.Equal(t, flat["[b]"]*2, flat["[a]"])
	assert.Equal(t, flat["[b]"], flat["[]"])
}

//go:noinline
func deep(depth int, p park) int {
	if depth == 0 {
		p()
		return 0
	}
	return other(depth-1, p) + 1
}

//go:noinline
func other(depth int, p park) int { return deep(depth, p) + 1 }

// TestDeepRecursion: a deep stack makes a small profile, with exact sums.
func TestDeepRecursion(t *testing.T) {
	start(t, func(p park) { deep(30_000, p) })
	p, parsed := take(t)
	assert.Less(t, len(parsed.Sample), 500)

	var want, frames int64
	for _, g := range p.Stacks.Goroutines {
		for _, f := range g.Trace.Frames {
			if strings.HasSuffix(f.Func, ".deep") {
				want += f.Size
				frames++
			}
		}
	}
	require.Equal(t, int64(30_001), frames)
	top := topOf(parsed)
	for _, f := range top {
		if strings.HasSuffix(f.Name, ".deep") {
			assert.Equal(t, want, f.Flat)
			assert.Greater(t, f.Cum, 2*want-1000)
			assert.Equal(t, int64(1), f.Goroutines)
			return
		}
	}
	require.Fail(t, "the function is not in the table")
}

func TestGoToolOpensIt(t *testing.T) {
	require.Slow(t) // it compiles the tool
	start(t, oneThousand, twoThousand, threeThousand, threeThousand)
	p, _ := take(t)
	var b bytes.Buffer
	_, err := p.WriteTo(&b)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "stack.pb.gz")
	writeFile(t, file, b.Bytes())
	for _, index := range []string{"stack_inuse", "stack_total", "goroutines"} {
		out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-nodecount=1000", "-nodefraction=0", "-unit=B", "-sample_index="+index, file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "Type: "+index)
		assert.Contains(t, string(out), "stackprof_test.threeThousand")
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-peek=_FreeStack", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, `stackprof_test\.threeThousand`, string(out))
}

// TestSeededRegression: an array that moved into a worker's frame is the first that the table
// shows.
func TestSeededRegression(t *testing.T) {
	var workers []func(park)
	for range 50 {
		workers = append(workers, worker)
	}
	start(t, workers...)
	_, parsed := take(t)
	top := topOf(parsed)
	var names []string
	for _, f := range top[:2] {
		names = append(names, f.Name[strings.LastIndex(f.Name, "/")+1:])
		if strings.HasSuffix(f.Name, ".worker") {
			assert.GreaterOrEqual(t, f.Flat, int64(50*64<<10))
			assert.Equal(t, int64(50), f.Goroutines)
		}
	}
	assert.Contains(t, names, "stackprof_test.worker")

	var text bytes.Buffer
	p, _ := take(t)
	require.NoError(t, p.WriteText(&text, 3))
	assert.Contains(t, text.String(), "stackprof_test.worker\n")
	assert.Regexp(t, `(?m)^and \d+ more functions$`, text.String())
}

//go:noinline
func worker(p park) {
	var buffer [64 << 10]byte
	fill((*[1000]byte)(buffer[:]))
	p()
	runtime.KeepAlive(&buffer)
}
