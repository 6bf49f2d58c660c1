package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// Artifacts may come from anywhere: a report that lacks nodes is told as a problem.
func TestDamagedReport(t *testing.T) {
	a := &outcome.Assertion{Result: verdict.Result{Artifacts: map[string]string{"report": "report.json"}}}
	for text, problem := range map[string]string{
		`{"roots": [{"name": "app.x", "root": {}}]}`:                       "",
		`{"roots": [null]}`:                                                "report.json: a node of the report is missing",
		`{"roots": [{"name": "app.x"}]}`:                                   "report.json: a node of the report is missing",
		`{"roots": [{"name": "app.x", "root": {}, "children": [null]}]}`:   "report.json: a node of the report is missing",
		`{"roots": [{"name": "app.x", "root": {}, "children": ["a node"]}`: "report.json: unexpected end of JSON input",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "report.json"), []byte(text), 0o600))
		b := &Builder{Dir: artifacts.Folder(dir)}
		f := b.Find(a)
		require.Equal(t, problem == "", f.Report != nil, text)
		if problem != "" {
			require.Equal(t, []string{problem}, f.Problems)
		}
	}
}
