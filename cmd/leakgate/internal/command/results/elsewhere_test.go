package results

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// hostile is a name that sets a terminal's title, and gives GitHub Actions a command.
const hostile = "\x1b]0;title\x07\n::add-mask::x\r\n##[add-mask]x\nTest"

// shardOf writes the report of a shard of two, in which everything is named hostile.
func shardOf(t *testing.T, index int) string {
	t.Helper()
	dir := t.TempDir()
	a := &outcome.Assertion{
		Result:   verdict.Result{Test: hostile, Seq: 1, Verdict: verdict.Fail, Message: hostile},
		Dir:      "tests/" + string(rune('a'+index)),
		Findings: []outcome.Finding{{Text: hostile, Fingerprint: strings.Repeat("ab", 16)}},
	}
	run := outcome.Run{
		Schema: outcome.Schema, Outcome: outcome.Regression, ExitCode: 1, Shard: &outcome.Shard{Index: index, Count: 2},
		Packages: []*outcome.Package{{ImportPath: "example.com/p" + string(rune('a'+index)), Status: "fail", Assertions: []*outcome.Assertion{a}}},
		Problems: []string{hostile}, Notes: []string{hostile},
	}
	data, err := json.Marshal(run)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, artifacts.ReportName), data, 0o666))
	return dir
}

// Names in reports that others have made reach neither a terminal nor GitHub Actions as commands.
func TestNamesFromElsewhere(t *testing.T) {
	first, second := shardOf(t, 1), shardOf(t, 2)
	commands := map[string]func(c *cli.Context) int{
		"view": func(c *cli.Context) int { return View(c, []string{"-text", first}) },
		"diff": func(c *cli.Context) int { return Diff(c, []string{first, second}) },
		"merge": func(c *cli.Context) int {
			return Merge(c, []string{"-o", filepath.Join(t.TempDir(), "merged"), first, second})
		},
	}
	for name, command := range commands {
		var out bytes.Buffer
		c := &cli.Context{Stdout: &out, Stderr: &out, Help: func(*cli.Context, string) int { return cli.Usage }}
		code := command(c)
		text := out.String()
		require.Contains(t, text, `:add-mask::x`, "%s: %d", name, code)
		require.NotRegexp(t, `(?m)^\s*::|##\[|[\x00-\x08\x0b-\x1f\x7f]`, text, name)
	}
	var out bytes.Buffer
	c := &cli.Context{Stdout: &out, Stderr: &out, Env: []string{"GITHUB_ACTIONS=true"}}
	require.Equal(t, 1, Merge(c, []string{"-github", "on", "-o", filepath.Join(t.TempDir(), "merged"), first, second}))
	stopped, after, found := strings.Cut(out.String(), "::stop-commands::")
	require.True(t, found, out.String())
	require.Empty(t, stopped)
	require.NotContains(t, after, "\n::add-mask::x")
	require.NotRegexp(t, `[\x00-\x08\x0b-\x1f\x7f]`, after, "annotations are shown in the log, too")
}
