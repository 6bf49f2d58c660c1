//go:build amd64 || arm64

package refscan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// Where memory is too short for the image, but suffices for a part of it, the image is written to a
// disk, and the report is the same.
func TestImageOnDisk(t *testing.T) {
	sweepHeaps["nodes"](16 << 20)
	defer func() { sweepNodes = nil }()
	want := scan(t)
	s, err := refscan.Capture()
	require.NoError(t, err)
	image, rest := refscan.Forecast(s)
	require.NoError(t, s.Close())

	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "proc"), 0o755))
	available := func(bytes int64) {
		text := fmt.Sprintf("MemTotal: %d kB\nMemAvailable: %d kB\n", bytes>>10, bytes>>10)
		require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "meminfo"), []byte(text), 0o644))
	}
	defer refscan.SetSystem(root)()
	available(rest + image/2)
	s, err = refscan.Capture()
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	if !refscan.OnDisk(s) {
		t.Skip("there is no disk for temporary files")
	}
	got, err := s.Scan()
	require.NoError(t, err)
	find := func(r *refscan.Report) *refscan.Node {
		for _, n := range r.Roots {
			if n.Root.Package == "github.com/leakgate/leakgate/refscan_test" && filepath.Base(n.Name) == "refscan_test.sweepNodes" {
				return n
			}
		}
		t.Fatal("the list is not in the report")
		return nil
	}
	wantObjects, wantBytes := find(want).Total()
	objects, bytes := find(got).Total()
	assert.Equal(t, [2]int64{wantObjects, wantBytes}, [2]int64{objects, bytes})
	assert.GreaterOrEqual(t, objects, int64(16<<20/32))

	available(rest / 2)
	_, err = refscan.Capture()
	var u *refscan.UnavailableError
	require.ErrorAs(t, err, &u)
	assert.Contains(t, u.Error(), "the machine's memory leaves")
	runtime.KeepAlive(sweepNodes)
}
