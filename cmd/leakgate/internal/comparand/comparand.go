// Package comparand reads what commands compare and show: a run's report, or a profile.
package comparand

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
)

// A Comparand is a run's report with the folder that its artifacts are relative to, or a profile.
type Comparand struct {
	Run     *outcome.Run
	Dir     string
	Profile *profile.Profile
}

// Read reads a leakgate.json, the folder with it, or a profile.
func Read(path string) (*Comparand, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		run, err := outcome.Read(path)
		return &Comparand{Run: run, Dir: path}, err
	}
	data, err := cli.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: give a leakgate.json, the folder with it, or a profile, which runs keep of assertions that passed only with -artifacts all", path)
	}
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		run, err := outcome.Read(path)
		return &Comparand{Run: run, Dir: filepath.Dir(path)}, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s is neither a report of leakgate run nor a profile: %w", path, err)
	}
	return &Comparand{Profile: p}, nil
}

// ReadProfile reads the file of a profile.
func ReadProfile(path string) (*profile.Profile, error) {
	data, err := cli.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s is no profile: %w", path, err)
	}
	return p, nil
}
