package main

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/leakcheck"
)

// TestQuestions looks into the server while clients come, ask, and go.
func TestQuestions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dns")
	out, err := exec.Command("go", "build", "-o", file, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	server := exec.Command(file)
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)

	question := new(dns.Msg)
	question.SetQuestion("example.com.", dns.TypeA)
	client := dns.Client{Net: "tcp"}
	leakcheck.AssertNoGrowth(t, func() {
		_, _, err := client.Exchange(question, strings.TrimSpace(address))
		require.NoError(t, err)
	}, leakcheck.InProcess(server.Process.Pid))
}
