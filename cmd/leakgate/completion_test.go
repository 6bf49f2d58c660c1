package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

func completionOf(t *testing.T, shell string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.Pass, run([]string{"completion", shell}, &stdout, &stderr, nil), stderr.String())
	return stdout.String()
}

// The completion in bash offers leakgate's commands, flags and words.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	require.NoError(t, err)
	script := completionOf(t, "bash")
	for _, c := range []struct{ line, want string }{
		{"leakgate ru", "run"},
		{"leakgate v", "vet view version"},
		{"leakgate run -ba", "-base"},
		{"leakgate run ./", ""}, // bash itself completes files
		{"leakgate golden t", "tighten"},
		{"leakgate golden check t", ""},
		{"leakgate golden prune -", "-C -y"},
		{"leakgate help exit", "exit-codes"},
		{"leakgate completion ", "bash fish zsh"},
		{"leakgate nothing -", ""},
	} {
		cmd := exec.Command(bash, "--norc", "-euc", script+`
COMP_WORDS=($1)
case $1 in *' ') COMP_WORDS+=("") ;; esac
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_leakgate
echo "${COMPREPLY[*]-}"`, "test", c.line)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, c.want, strings.TrimSpace(string(out)), c.line)
	}
}

// The other shells, where they are installed, read their completions without complaint. The
// completions have every command and flag.
func TestCompletionInOtherShells(t *testing.T) {
	words, err := completed(commands())
	require.NoError(t, err)
	for shell, flagOf := range map[string]func(string) string{
		"zsh":  func(flag string) string { return flag },
		"fish": func(flag string) string { return "-o " + strings.TrimPrefix(flag, "-") },
	} {
		script := completionOf(t, shell)
		for _, c := range words {
			require.Contains(t, script, c.name)
			require.Contains(t, script, c.summary)
			for _, flag := range c.flags {
				require.Contains(t, script, flagOf(flag))
			}
		}
		if path, err := exec.LookPath(shell); err == nil {
			cmd := exec.Command(path, "-n")
			cmd.Stdin = strings.NewReader(script)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
		}
	}
}
