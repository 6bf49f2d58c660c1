//go:build amd64 || arm64

package judges_test

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	kit "github.com/leakgate/leakgate/internal/testkit/require"
)

// spikes is how many the program makes.
const spikes = 8

// largest is what the text of each says first of the memory.
const largest = "and not before, by samples:\n    10.0 MiB allocated at:\n        main.spikeAlloc ("

// TestSpike has a server hold 10 MB more for one collection, again and again, while leakgate
// watches it from outside and holmes inside.
func TestSpike(t *testing.T) {
	kit.Slow(t)
	ours, theirs := t.TempDir(), t.TempDir()
	p := start(t, "spike", theirs)
	path, err := command()
	require.NoError(t, err)
	watch := exec.Command(path, "scan", "-watch", "-pid", p.pid, "-spike", "20%,+4MiB", "-every", "1ms", "-max", "100", "-poll", "1ms", "-o", ours)
	out, err := watch.StdoutPipe()
	require.NoError(t, err)
	watch.Stderr = watch.Stdout
	require.NoError(t, watch.Start())
	var text strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "took a snapshot to compare with") || strings.HasPrefix(lines.Text(), "kept in ") {
			_, err := io.WriteString(p.input, "\n")
			require.NoError(t, err)
		}
	}
	_ = watch.Wait() // 1: there were spikes
	if strings.Contains(text.String(), "may not be looked into") {
		t.Skipf("ptrace is not permitted here: %s", text.String())
	}
	require.Contains(t, text.String(), " has ended: ")
	require.Equal(t, spikes, strings.Count(text.String(), largest), "%s", &text)
	require.NotRegexp(t, `main\.spikeRequest \(.*\n +main\.spikeRequest \(`, text.String(), "a function that inlines is there once")
	pairs, named := pairsOf(t, filepath.Join(ours, "*"), "heap.base.pb.gz", "heap.pb.gz")
	require.Equal(t, spikes, pairs, "%s", &text)
	require.Equal(t, spikes, named, "%s", &text)
	_, their := pairsOf(t, filepath.Join(theirs, "GCHeap.heap-*"))
	compared(t, "spikes of one collection whose pair names `spikeAlloc`, from outside", fmt.Sprint(named, " of 8"), fmt.Sprint(their, " of 8 (holmes)"))
}

// TestSpikeInside has the same server watch itself.
func TestSpikeInside(t *testing.T) {
	kit.Slow(t)
	p := start(t, "spike", "inside")
	var text strings.Builder
	for p.lines.Scan() {
		text.WriteString(p.lines.Text() + "\n")
	}
	told := strings.Split(text.String(), " more than usual (")[1:]
	require.Len(t, told, spikes, "%s", &text)
	for _, spike := range told {
		require.Contains(t, spike, largest)
	}
	compared(t, "the same, in the program", fmt.Sprint(len(told), " of 8"), "-")
}

// pairsOf counts the pairs of heap profiles that a pattern matches: folders with two files, or
// files that are pairs by their names up to the first number. named is how many of them have
// spikeAlloc with 10 MB more alive in the second profile than in the first.
func pairsOf(t *testing.T, pattern string, files ...string) (pairs, named int) {
	t.Helper()
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	of := make(map[string][]string)
	for _, name := range found {
		if files == nil {
			key := strings.Join(strings.SplitN(name, ".", 3)[:2], ".")
			of[key] = append(of[key], name)
		}
		for _, file := range files {
			of[name] = append(of[name], filepath.Join(name, file))
		}
	}
	for _, pair := range of {
		slices.Sort(pair) // holmes' names have the time
		if len(pair) == 2 && alive(readProfile(t, pair[1]))-alive(readProfile(t, pair[0])) >= 10<<20 {
			named++
		}
	}
	return len(of), named
}

// alive are the bytes below spikeAlloc.
func alive(p *profile.Profile) (bytes int64) {
	for _, s := range p.Sample {
		if slices.Contains(names(s), "main.spikeAlloc") {
			bytes += s.Value[len(s.Value)-1]
		}
	}
	return bytes
}
