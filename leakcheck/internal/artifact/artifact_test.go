package artifact_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/pproftest"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/artifact"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

// A file that grows too large is not kept.
func TestArtifactsAreBounded(t *testing.T) {
	a := &artifact.Folder{Dir: t.TempDir(), Files: make(map[string]string)}
	err := a.Save("big.txt", func(w io.Writer) error {
		for range artifact.MaxArtifact>>20 + 1 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return err
			}
		}
		return nil
	})
	require.ErrorContains(t, err, "larger than")
	assert.Empty(t, files(t, a.Dir))
	assert.Empty(t, a.Files)
}

// files lists the names in a folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestArtifactNamesStayInside(t *testing.T) {
	for _, name := range []string{"TestX/../../y", "TestX/..", "/etc", `TestX/a\b:c`, ""} {
		p := artifact.SafePath(name)
		assert.True(t, filepath.IsLocal(filepath.FromSlash(p)) && !strings.ContainsAny(p, `\:`), "%q -> %q", name, p)
	}
	assert.Equal(t, "unnamed", environ.LocalPath("../x"))
}

// Each assertion has a folder of its own; those that pass, and those beyond a number, get a record
// alone.
func TestFolders(t *testing.T) {
	t.Setenv("LEAKGATE_ARTIFACTS_MAX", "2")
	env := &environ.Environment{Artifacts: t.TempDir(), PackagePath: "example.com/app"}
	of := func(failed bool) *artifact.Folder {
		a, err := artifact.NewFolder(env, t, "TestX/case", failed)
		require.NoError(t, err)
		return a
	}
	below := filepath.Join(env.Artifacts, "example.com", "app", "TestX", "case")
	for i, c := range []struct{ failed, full bool }{{false, false}, {true, true}, {true, true}, {true, false}} {
		a := of(c.failed)
		assert.Equal(t, filepath.Join(below, string(rune('1'+i))), a.Dir)
		assert.Equal(t, c.full, a.Full)
		assert.Equal(t, c.full, a.FullDir() != "")
	}
	r := &verdict.Result{Verdict: verdict.Fail}
	a := of(true)
	require.NoError(t, a.SaveText("note.txt", "text"))
	require.NoError(t, a.SaveText("empty.txt", ""))
	require.NoError(t, a.Save("x.pb.gz", func(io.Writer) error { return nil }))
	require.NoError(t, a.SaveResult(r))
	b, err := os.ReadFile(filepath.Join(a.Dir, verdict.FileName))
	require.NoError(t, err)
	var read verdict.Result
	require.NoError(t, json.Unmarshal(b, &read))
	assert.Equal(t, 5, read.Seq)
	assert.Equal(t, map[string]string{"note": "note.txt", "x": "x.pb.gz"}, read.Artifacts)

	// Bazel gathers files of failures alone.
	env = &environ.Environment{Undeclared: t.TempDir(), PackagePath: "../app"}
	assert.Empty(t, of(false).Dir)
	assert.Equal(t, filepath.Join(env.Undeclared, "leakcheck", "unnamed", "TestX", "case", "1"), of(true).Dir)
	env = &environ.Environment{}
	nowhere := of(true)
	assert.Empty(t, nowhere.Dir)
	require.NoError(t, nowhere.SaveText("x.txt", "x"))
	require.NoError(t, nowhere.SaveResult(r))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = artifact.NewFolder(&environ.Environment{Artifacts: file}, t, "TestX", true)
	require.ErrorContains(t, err, "cannot keep artifacts")
}

// names has nothing.
type names struct{ naming.Inventory }

// What is saved depends on what there was: without a scan there is no report, and without a
// baseline nothing to compare with.
func TestFiles(t *testing.T) {
	saved := func(c artifact.Contents) []string {
		a := &artifact.Folder{Dir: t.TempDir(), Full: true, Files: make(map[string]string)}
		require.NoError(t, a.SaveFiles(c))
		all := files(t, a.Dir)
		assert.Len(t, a.Files, len(all))
		if slices.Contains(all, artifact.RetainedFile) {
			f, err := os.Open(filepath.Join(a.Dir, artifact.RetainedFile))
			require.NoError(t, err)
			defer f.Close()
			p, err := pproftest.Parse(f)
			require.NoError(t, err)
			assert.NotEmpty(t, p.Sample)
		}
		return all
	}
	stacks := []string{"goroutine.pb.gz", "stack.pb.gz"}
	assert.Equal(t, stacks, saved(artifact.Contents{}))
	assert.Equal(t, stacks, saved(artifact.Contents{Obs: &observe.Observation{Report: reporttest.Report()}}), "there was no scan")
	scanned := &observe.Observation{Report: reporttest.Report(reporttest.Sessions(5)), Names: names{}}
	with := func(more ...string) []string { return slices.Sorted(slices.Values(append(more, stacks...))) }
	assert.Equal(t, with("report.json", "retained.pb.gz", "trace.txt"), saved(artifact.Contents{Obs: scanned, Trace: "message"}))
	scanned.Report.Roots[0].Children[0].Allocations = []refscan.Allocation{{Objects: 1, Bytes: 10}}
	scanned.Heap = "heap"
	base := observe.Artifacts{Heap: "earlier", Report: reporttest.Report()}
	assert.Equal(t, with("allocations.pb.gz", "heap.base.pb.gz", "heap.pb.gz", "native.base.pb.gz", "native.pb.gz", "report.base.json", "report.json", "retained.pb.gz"),
		saved(artifact.Contents{Obs: scanned, Base: base, Native: artifact.Native{Base: "a", Last: "b"}}))
}
