package outcome

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
)

// Read reads the report of a run: path is a file leakgate.json, or an artifacts directory with one.
func Read(path string) (*Run, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, artifacts.ReportName)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: leakgate run leaves a report, %s, in its artifacts directory", path, artifacts.ReportName)
	}
	if err != nil {
		return nil, fmt.Errorf("a run's report: %w", err)
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
	if run.Outcome == "" {
		return nil, fmt.Errorf("%s is no report of leakgate run: it has no outcome", path)
	}
	return &run, nil
}
