package main

import (
	"bufio"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/leakcheck"
)

// start builds the service and runs it until the test ends.
func start(t *testing.T) (pid int, url string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "service")
	out, err := exec.Command("go", "build", "-o", file, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	server := exec.Command(file, "localhost:0")
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return server.Process.Pid, "http://" + strings.TrimSpace(address)
}

// TestListen looks into the service while clients come and go.
func TestListen(t *testing.T) {
	pid, url := start(t)
	leakcheck.AssertNoGrowth(t, func() {
		answer, err := http.Get(url + "/events")
		require.NoError(t, err)
		hello, err := bufio.NewReader(answer.Body).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "event: hello\n", hello)
		require.NoError(t, answer.Body.Close())
	}, leakcheck.InProcess(pid))
}
