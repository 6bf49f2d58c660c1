//go:build amd64 || arm64

package judges_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	kit "github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// TestAllocations counts the strings that 36 methods String return pointers to, in 100 calls: by an
// assertion, by the table of the command, and by the memory profiler at a rate of 1.
func TestAllocations(t *testing.T) {
	kit.Slow(t)
	const pointers = 100 * 36
	inPrograms(t, "test", "-count=1", "-run", "TestBound", "./allocated")

	file := filepath.Join(t.TempDir(), "allocs.pb.gz")
	inPrograms(t, "test", "-count=1", "-run", "TestEach", "-o", filepath.Join(t.TempDir(), "test"), "-memprofile", file, "-memprofilerate", "1", "./allocated")
	p, theirs := readProfile(t, file), int64(0)
	methods := make(map[string]bool)
	for _, s := range p.Sample {
		// The profile has no types: it is by their size that the texts are told apart.
		if name := names(s)[0]; strings.HasPrefix(name, "example.com/seeds/allocated.(*") && s.NumLabel["bytes"][0] == 16 {
			theirs += s.Value[valueIndex(t, p, "alloc_objects")]
			methods[name] = true
		}
	}
	require.EqualValues(t, pointers, theirs)
	require.Len(t, methods, 36)

	var report struct {
		Packages []struct {
			Types []struct {
				Name    string
				Objects int64
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(leakgate(t, "alloc", "-C", programs, "-run", "TestEach", "-json", "./allocated")), &report))
	require.Len(t, report.Packages, 1)
	ours := int64(0)
	for _, row := range report.Packages[0].Types {
		if row.Name == "string" {
			ours = row.Objects
		}
	}
	// Package testing and the tracer allocate a few others.
	require.True(t, ours >= pointers && ours < pointers+20, ours)
	compared(t, "pointers to strings that 36 methods return, 100 times", textfmt.Count(ours), textfmt.Count(theirs)+" (pprof, rate 1)")
}
