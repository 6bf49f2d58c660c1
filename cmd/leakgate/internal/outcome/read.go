package outcome

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
)

// maxReport bounds a report, which takes several times its size once it is read.
const maxReport = 64 << 20

// Locate returns the artifacts directory of the report at path, and the report's name in it.
func Locate(path string) (folder artifacts.Folder, name string) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return artifacts.Folder(path), artifacts.ReportName
	}
	return artifacts.Folder(filepath.Dir(path)), filepath.Base(path)
}

// Read reads the report of a run: path is a file leakgate.json, or an artifacts directory with one.
func Read(path string) (*Run, error) {
	folder, name := Locate(path)
	path = filepath.Join(string(folder), name)
	data, err := folder.Read(name, maxReport)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: leakgate run leaves a report, %s, in its artifacts directory", path, artifacts.ReportName)
	}
	if err != nil {
		return nil, fmt.Errorf("a run's report, %s: %w", path, err)
	}
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("%s is no report of leakgate run: %w", path, err)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("%s: its schema is %d and this leakgate reads %d: make it anew with this version", path, head.Schema, Schema)
	}
	var run Run
	if err := json.Unmarshal(data, &run); err != nil {
		return nil, fmt.Errorf("%s is no report of leakgate run: %w", path, err)
	}
	if err := run.complete(); err != nil {
		return nil, fmt.Errorf("%s is no report of leakgate run: %w", path, err)
	}
	return &run, nil
}

// complete returns an error for a run that lacks what all runs have. An outcome that this version
// does not know has no exit code: it must not be taken for a pass.
func (r *Run) complete() error {
	if r.Outcome == "" {
		return errors.New("it has no outcome")
	}
	if _, ok := exitCodes[r.Outcome]; !ok {
		return fmt.Errorf("this version knows no outcome %q: read it with the version that wrote it, %s", r.Outcome, r.Leakgate)
	}
	for _, p := range r.Packages {
		if p == nil || slices.Contains(p.Assertions, nil) {
			return errors.New("it has null for a package or an assertion")
		}
	}
	return nil
}
