package process

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The text of an audited scan has the result of the audit.
func TestScan(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "subject")
	out, err := exec.Command("go", "build", "-o", exe, "./testdata/subject").CombinedOutput()
	require.NoError(t, err, "%s", out)
	// An audit compares two garbage collections of the process, so there have to be some. They must
	// not follow each other faster than the process can be stopped.
	subject := exec.Command(exe, "20ms")
	_, err = subject.StdinPipe() // the process ends when this pipe is closed
	require.NoError(t, err)
	stdout, err := subject.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, subject.Start())
	defer func() {
		_ = subject.Process.Kill()
		_ = subject.Wait()
	}()
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, audited := range []bool{false, true} {
		p := &process{PID: subject.Process.Pid, Audit: audited}
		scan, err := p.Scan(ctx, nil)
		if err != nil && strings.Contains(err.Error(), "may not be looked into") {
			t.Skipf("ptrace is not permitted here: %v", err)
		}
		require.NoError(t, err)
		require.Equal(t, exe, scan.Program)
		require.Equal(t, p.Name(), scan.Source)
		require.Positive(t, scan.Report.Pause)
		require.Greater(t, scan.Report.Totals.LiveBytes, int64(10<<20))
		require.Equal(t, audited, scan.Audit != nil)
		var text strings.Builder
		require.NoError(t, scan.WriteText(&text, 3))
		require.Equal(t, audited, strings.Contains(text.String(), " that the collection before found alive: the next one, "), text.String())
	}
}
