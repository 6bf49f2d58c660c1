package page_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func pprof(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"tool", "pprof"}, args...)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// retained returns a profile of what the leaking program retains.
func retained(t *testing.T) string {
	t.Helper()
	return filepath.Join(artifacts(t), "tests", "example.com", "parcel", "TestHandle", "1", "retained.pb.gz")
}

// TestNamesInPprof reads the output of pprof for a real profile: it must have the root, the field
// and the element of each frame, even where it shortens names.
func TestNamesInPprof(t *testing.T) {
	slow(t)
	path := retained(t)
	top := pprof(t, "-top", "-nodefraction=0", "-nodecount=1000", path)
	const requests = " example.com/parcel.inflight.Requests"
	for _, name := range []string{"[*].Body\n", "[*].Retry.Body\n", "[$key]\n"} {
		require.Contains(t, top, requests+name)
	}
	peek := pprof(t, "-peek", `inflight\.Requests\[\*\]$`, "-nodefraction=0", path)
	for _, name := range []string{"\n", "[*]\n", "[*].Body\n"} {
		require.Contains(t, peek, requests+name)
	}
	// The boxes of a graph break lines at dots, and have only the last element of the package's
	// path.
	graph := pprof(t, "-dot", "-nodefraction=0", "-nodecount=1000", "-focus", "inflight", path)
	for _, name := range []string{`[*]\n`, `[*]\nBody\n`, `[*]\nRetry\nBody\n`, `[$key]\n`} {
		require.Contains(t, graph, `label="parcel\ninflight\nRequests`+name)
	}
	require.Contains(t, pprof(t, "-tags", "-focus", "inflight", path), "*example.com/parcel.Request\n", "the types are tags")
	require.Contains(t, pprof(t, "-top", "-tagfocus", `type=\*example.com/parcel.Request`, path), requests+"[*]\n")
}
