package present

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// GitHub drops a summary that is too large, including what other commands of the step wrote.
func TestStepSummaryKeepsToItsRoom(t *testing.T) {
	run := &outcome.Run{Outcome: outcome.Regression, Packages: []*outcome.Package{{ImportPath: "p"}}}
	for range 500 {
		run.Packages[0].Assertions = append(run.Packages[0].Assertions, &outcome.Assertion{
			Result: verdict.Result{Test: "T", Verdict: verdict.Fail, Message: strings.Repeat("a line\n", 1000)},
		})
	}
	for _, before := range []int{0, 900_000, 999_500, 1_100_000} {
		file := filepath.Join(t.TempDir(), "summary")
		require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("x", before)), 0o666))
		require.NoError(t, appendSummary(file, run))
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.LessOrEqual(t, len(data), max(before, StepSummarySize))
		room := StepSummarySize-before >= SmallestPage
		require.Equal(t, room, len(data) > before)
		require.Equal(t, room, strings.Contains(string(data), Marker))
	}
	require.Error(t, appendSummary(t.TempDir(), run), "a folder")
}

// If the text cannot be written, the files are, and GitHub Actions takes commands again.
func TestShow(t *testing.T) {
	var b strings.Builder
	o := Formats{github: "on", junit: "junit.xml"}
	dir := t.TempDir()
	err := o.Show(new(outcome.Run), dir, nil, &b, func() error {
		b.WriteString("::error::from a program\n")
		return errors.New("the text")
	})
	require.EqualError(t, err, "the text")
	require.FileExists(t, filepath.Join(dir, "junit.xml"))
	require.Regexp(t, `^::stop-commands::(\w+)\n::error::from a program\n::\w+::\n$`, b.String())

	b.Reset()
	o.github = "off"
	require.NoError(t, o.Show(new(outcome.Run), dir, nil, &b, func() error { return nil }))
	require.Empty(t, b.String())
}

func TestCheck(t *testing.T) {
	for _, o := range []Formats{{github: "auto"}, {github: "off", junit: "a", sarif: "b"}, {github: "on", markdown: "a"}} {
		require.NoError(t, o.Check())
	}
	require.EqualError(t, (&Formats{github: "no"}).Check(), "-github no: it is auto, on or off")
	require.EqualError(t, (&Formats{github: "on", junit: "a", sarif: "./a"}).Check(), "-junit and -sarif name the same file, ./a: only one of the two would be in it")
}
