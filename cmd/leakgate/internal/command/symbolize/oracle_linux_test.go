package symbolize

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// TestAgainstRuntime removes the names from a profile that Go's runtime wrote. It compares the
// names that symbols and DWARF of the program give with those of the runtime: functions, inlined
// functions, and lines.
func TestAgainstRuntime(t *testing.T) {
	needs(t, "go")
	text, err := os.ReadFile("testdata/goprogram.txt")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), text, 0o666))
	command(t, dir, []string{"GOWORK=off", "GO111MODULE=off", "GOFLAGS="}, "go", "build", "-o", "program", "main.go")
	command(t, dir, nil, "./program", "allocs.pb.gz")
	file := filepath.Join(dir, "allocs.pb.gz")
	want := readProfile(t, file)
	bare := want.Copy()
	for _, l := range bare.Location {
		l.Line = nil
	}
	bare.Function = nil
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, bare.Write(f))
	require.NoError(t, f.Close())
	got, _, errs := named(t, file)
	require.Empty(t, errs)
	known := linesByAddress(got)
	compared := 0
	for addr, lines := range linesByAddress(want) {
		require.Equal(t, lines, known[addr], "%#x", addr)
		compared++
	}
	require.Greater(t, compared, 100)
}

func readProfile(t *testing.T, file string) *profile.Profile {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	p, err := profile.ParseData(b)
	require.NoError(t, err)
	return p
}

// linesByAddress lists the functions and lines of each location.
func linesByAddress(p *profile.Profile) map[uint64]string {
	out := make(map[uint64]string)
	for _, l := range p.Location {
		var b strings.Builder
		for _, line := range l.Line {
			fmt.Fprintf(&b, "%s %s:%d\n", line.Function.Name, filepath.Base(line.Function.Filename), line.Line)
		}
		out[l.Address] = b.String()
	}
	return out
}
