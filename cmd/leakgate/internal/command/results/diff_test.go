package results

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

func TestDiffOfProfiles(t *testing.T) {
	stacks := map[string][]string{
		"map":  {"example.com/app.sessions"},
		"key":  {"example.com/app.sessions[$key]", "example.com/app.sessions"},
		"user": {"example.com/app.sessions[*].User", "example.com/app.sessions[*]", "example.com/app.sessions"},
		"list": {"example.com/app.srv.list[*]", "example.com/app.srv.list", "example.com/app.srv"},
	}
	dir := t.TempDir()
	before, after, out := filepath.Join(dir, "old.pb.gz"), filepath.Join(dir, "new.pb.gz"), filepath.Join(dir, "diff.pb.gz")
	writeProfile(t, before, true, map[string][2]int64{"map": {1, 48}, "key": {1, 16}, "list": {5, 40}}, stacks)
	writeProfile(t, after, true, map[string][2]int64{"map": {1, 48}, "key": {40, 640}, "user": {40, 2048}, "list": {3, 24}}, stacks)

	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.Pass, Diff(&cli.Context{Stdout: &stdout, Stderr: &stderr}, []string{"-o", out, before, after}), stderr.String())
	require.Equal(t, `  PATH                              OBJECTS                BYTES
  example.com/app.sessions[*].User  0 → 40   +40           0 B → 2.0 KiB  +2.0 KiB
  example.com/app.sessions[$key]    1 → 40   +39 (×40)     16 B → 640 B   +624 B (×40)
  example.com/app.srv.list[*]       5 → 3    -2 (-40.0 %)  40 B → 24 B    -16 B (-40.0 %)

3 paths: 2 grew, 1 shrank, 0 the same
`, stdout.String())
	require.Equal(t, cli.Findings, Diff(&cli.Context{Stdout: &stdout, Stderr: &stderr}, []string{"-fail", before, after}))

	// go tool pprof shows the profile that -o wrote.
	top, err := exec.Command("go", "tool", "pprof", "-sample_index=inuse_space", "-unit=B", "-top", out).Output()
	require.NoError(t, err)
	require.Regexp(t, `2048B +\S+ +\S+ +2048B +\S+ +example\.com/app\.sessions\[\*\]\.User\n`, string(top))
	require.Regexp(t, `624B +\S+ +\S+ +624B +\S+ +example\.com/app\.sessions\[\$key\]\n`, string(top))
	require.Regexp(t, `-16B +\S+ +\S+ +-16B +\S+ +example\.com/app\.srv\.list\[\*\]\n`, string(top))

	// In a profile of allocations a row is a function.
	calls := map[string][]string{"a": {"app.grow", "app.main"}, "b": {"app.grow", "app.other"}}
	writeProfile(t, before, false, map[string][2]int64{"a": {1, 10}}, calls)
	writeProfile(t, after, false, map[string][2]int64{"a": {1, 10}, "b": {2, 20}}, calls)
	stdout.Reset()
	require.Equal(t, cli.Pass, Diff(&cli.Context{Stdout: &stdout, Stderr: &stderr}, []string{before, after}), stderr.String())
	require.Regexp(t, `(?m)^  app\.grow  1 → 3    \+2 \(\+200\.0 %\)  10 B → 30 B  \+20 B \(\+200\.0 %\)$`, stdout.String())
	require.Empty(t, stderr.String())
}

func TestDiffRefusesOtherProfiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu.pb.gz")
	var b bytes.Buffer
	require.NoError(t, (&profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}).Write(&b))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o666))
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.Usage, Diff(&cli.Context{Stdout: &stdout, Stderr: &stderr}, []string{path, path}))
	require.Equal(t, "leakgate: the old profile: it has no values in count and bytes, but cpu/nanoseconds\n", stderr.String())
}
