//go:build amd64 || arm64

package judges_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	kit "github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// gorefVersion is the release of goref that the figures are compared with.
const gorefVersion = "v0.0.11"

// goref returns the command of goref: the one in PATH, or the release, where that can be had.
func goref(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("grf"); err == nil {
		return path
	}
	cmd := exec.Command("go", "install", "github.com/cloudwego/goref/cmd/grf@"+gorefVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+tools, "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("goref cannot be had: %s", out)
	}
	return filepath.Join(tools, "grf")
}

// held are the bytes below roots, by root, and those of the root's strings in slices.
type held struct{ root, lines map[string]int64 }

// TestRetained asks why a process keeps its memory: a package variable and a variable of a
// goroutine hold 15,000 orders.
func TestRetained(t *testing.T) {
	kit.Slow(t)
	p := start(t, "retained")
	require.Equal(t, "ready", p.line(t))
	file := filepath.Join(t.TempDir(), "retained.pb.gz")
	text := leakgate(t, "scan", "-pid", p.pid, "-o", file)
	require.Regexp(t, `(?m)^ +60,001 .*  main\.orders  \[\]\*main\.order$`, text)
	require.Regexp(t, `(?m)^ +120,001 .*  main\.receive\.cached  \[\]interface \{\}  \(1 goroutine\)$`, text)
	ours := rootsOf(t, file, "main.orders", "main.receive.cached")
	// Three strings of an order are of 1,024 bytes, and in its slice.
	require.EqualValues(t, 5_000*3*1024, ours.lines["main.orders"])
	require.EqualValues(t, 10_000*3*1024, ours.lines["main.receive.cached"])

	t.Run("goref", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "grf.out")
		out, err := exec.Command(goref(t), "attach", p.pid, "-o", file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		// goref gives a variable to the function that the compiler makes of the go statement.
		theirs := rootsOf(t, file, "main.orders", "main.main.gowrap1.cached")
		for root, their := range map[string]string{"main.orders": "main.orders", "main.receive.cached": "main.main.gowrap1.cached"} {
			require.InEpsilon(t, theirs.root[their], ours.root[root], 0.001, root)
			compared(t, fmt.Sprintf("held by `%s`", root), textfmt.Count(ours.root[root])+" B", textfmt.Count(theirs.root[their])+" B (goref)")
		}
	})
}

// rootsOf sums a profile by some of its roots.
func rootsOf(t *testing.T, file string, roots ...string) held {
	t.Helper()
	p := readProfile(t, file)
	bytes := valueIndex(t, p, "inuse_space")
	sums := held{make(map[string]int64), make(map[string]int64)}
	for _, s := range p.Sample {
		path := names(s)
		root := path[len(path)-1]
		sums.root[root] += s.Value[bytes]
		if len(path) > 1 && strings.HasSuffix(path[0], ".lines[*]") {
			sums.lines[root] += s.Value[bytes]
		}
	}
	for _, root := range roots {
		require.Positive(t, sums.root[root], "%s has no root %s: %v", file, root, sums.root)
	}
	return sums
}
