//go:build amd64 || arm64

package judges_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	kit "github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// TestCodeMadeAtRunTime names 10,000 functions that a program has made, by its map for perf, and
// has pprof read the same profile. Registered objects and real allocators are in the command's own
// tests.
func TestCodeMadeAtRunTime(t *testing.T) {
	kit.Slow(t)
	const functions = 10_000
	dir := t.TempDir()
	heap, file := filepath.Join(dir, "app.heap"), filepath.Join(dir, "named.pb.gz")
	perfMap := start(t, "jit", heap).line(t)
	t.Cleanup(func() { _ = os.Remove(perfMap) })
	out := leakgate(t, "symbolize", "-perf-map", perfMap, "-o", file, heap)
	require.Contains(t, out, "10000 of 10000 addresses have names")
	p := readProfile(t, file)
	named, bytes := 0, int64(0)
	for _, s := range p.Sample {
		value := s.Value[len(s.Value)-1]
		bytes += value
		// A function's number is in its name, and in what it has allocated.
		if path := names(s); len(path) == 1 && path[0] == fmt.Sprintf("script::f%d", value-1) {
			named++
		}
	}
	require.Equal(t, functions, named, out)

	raw, err := exec.Command("go", "tool", "pprof", "-raw", "-symbolize=local", heap).Output()
	require.NoError(t, err)
	// From what pprof prints to what draws flame graphs.
	printed, stacks := filepath.Join(dir, "raw.txt"), filepath.Join(dir, "stacks.txt")
	require.NoError(t, os.WriteFile(printed, raw, 0o666))
	leakgate(t, "symbolize", "-perf-map", perfMap, "-collapsed", stacks, "-html", filepath.Join(dir, "stacks.html"), printed)
	lines, err := os.ReadFile(stacks)
	require.NoError(t, err)
	require.Len(t, regexp.MustCompile(`(?m)^script::f\d+ \d+$`).FindAll(lines, -1), functions)
	require.Contains(t, string(lines), "script::f9999 10000\n")

	sum := int64(0)
	for _, s := range readProfile(t, heap).Sample {
		sum += s.Value[len(s.Value)-1]
	}
	require.Equal(t, sum, bytes)
	compared(t, "addresses of code made at run time that have a name", textfmt.Count(int64(named))+" of 10,000",
		fmt.Sprintf("%d of 10,000 (pprof)", len(regexp.MustCompile(`(?m)script::f\d+`).FindAll(raw, -1))))
}
