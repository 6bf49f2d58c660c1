//go:build amd64 || arm64

package judges_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/core"
	"github.com/stretchr/testify/require"
)

// contents are the contents of a core file as refscan/foreign/testdata/memory reports them.
type contents struct {
	Segments []struct {
		Addr, Size, Read uint64
		Hash             string
	}
	Variables []struct {
		Name, Type string
		Addr       uint64
		Bytes      string
	}
	Threads []int
}

// TestDelveCore compares what leakgate and delve read from a core file that delve has written of a
// busy program: memory byte for byte, and package variables by name, type, address and value.
func TestDelveCore(t *testing.T) {
	dir := t.TempDir()
	tool := func(name, folder string) string {
		program := filepath.Join(dir, name)
		out, err := exec.Command("go", "build", "-C", "../../..", "-o", program, folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return program
	}
	exe := tool("subject", "./refscan/foreign/testdata/subject")
	reader := tool("memory", "./refscan/foreign/testdata/memory")
	file := dump(t, exe, filepath.Join(dir, "core"))

	out, err := exec.Command(reader, file, exe).Output()
	require.NoError(t, err)
	var ours contents
	require.NoError(t, json.Unmarshal(out, &ours))
	group, err := core.OpenCore(file, exe, nil)
	require.NoError(t, err)
	target := group.Selected
	ours.compareMemory(t, target)
	ours.compareVariables(t, target)
	threads := make([]int, 0, len(ours.Threads))
	for _, thread := range target.ThreadList() {
		threads = append(threads, thread.ThreadID())
	}
	require.ElementsMatch(t, threads, ours.Threads)

	// The scan of the same file: it finds what the subject keeps.
	scan := exec.Command("go", "run", "-C", "../../..", "./cmd/leakgate", "scan", "-core", file, "-top", "3", exe)
	text, err := scan.CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.Regexp(t, `(?m)^ +6,001 .* main\.sessions  \[\]\*main\.Session$`, string(text))
	require.Contains(t, string(text), "0 dangling references")
}

// dump runs a busy subject, and makes delve write a core file of it.
func dump(t *testing.T, exe, file string) string {
	t.Helper()
	cmd := exec.Command(exe, "2000", "busy")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	s := &subject{pid: cmd.Process.Pid}
	target := s.attach(t)
	f, err := os.Create(file)
	require.NoError(t, err)
	var state proc.DumpState
	target.Dump(f, 0, &state)
	require.NoError(t, state.Err)
	require.True(t, state.AllDone)
	_ = f.Close() // delve may have closed it
	return file
}

func (c *contents) compareMemory(t *testing.T, target *proc.Target) {
	t.Helper()
	total := uint64(0)
	for _, s := range c.Segments {
		b := make([]byte, s.Read)
		n, err := target.Memory().ReadMemory(b, s.Addr)
		require.NoError(t, err, "%d bytes at %#x", s.Read, s.Addr)
		require.Len(t, b, n)
		sum := sha256.Sum256(b)
		require.Equal(t, hex.EncodeToString(sum[:]), s.Hash, "%d bytes at %#x", s.Read, s.Addr)
		total += s.Read
	}
	require.Greater(t, total, uint64(1<<20))
	t.Logf("%d bytes in %d segments compared", total, len(c.Segments))
}

func (c *contents) compareVariables(t *testing.T, target *proc.Target) {
	t.Helper()
	delves := packageVariables(t, target)
	seen := make(map[string]bool)
	for _, v := range c.Variables {
		d := delves[v.Name]
		sameVariable(t, d, v.Name, v.Type, v.Addr)
		value := make([]byte, len(v.Bytes)/2)
		_, err := target.Memory().ReadMemory(value, d.Addr)
		require.NoError(t, err, v.Name)
		require.Equal(t, hex.EncodeToString(value), v.Bytes, "value of %s", v.Name)
		seen[v.Name] = true
	}
	require.True(t, seen["main.sessions"])
	require.True(t, seen["main.label"])
	for name, d := range delves {
		size := d.DwarfType.Common().ByteSize
		if !seen[name] && d.Addr != 0 && size > 0 && size <= 1<<16 && !strings.HasPrefix(name, "runtime.") {
			t.Errorf("%s %s: delve alone has it", name, delveType(d))
		}
	}
	t.Logf("%d variables compared", len(c.Variables))
}
