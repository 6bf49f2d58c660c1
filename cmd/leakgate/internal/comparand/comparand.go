// Package comparand reads what commands compare and show: a run's report, or a profile.
package comparand

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/pproffile"
)

// A Comparand is a run's report with the folder that its artifacts are relative to, or a profile.
type Comparand struct {
	Run     *outcome.Run
	Dir     artifacts.Folder
	Profile *profile.Profile
}

// Read reads a leakgate.json, the folder with it, or a profile.
func Read(path string) (*Comparand, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		data, err := cli.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s is not there: give a leakgate.json, the folder with it, or a profile, which runs keep of assertions that passed only with -artifacts all", path)
		case err != nil:
			return nil, err
		case !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")):
			p, err := pproffile.Parse(data)
			if err != nil {
				return nil, fmt.Errorf("%s is neither a report of leakgate run nor a profile: %w", path, err)
			}
			return &Comparand{Profile: p}, nil
		}
	}
	folder, _ := outcome.Locate(path)
	run, err := outcome.Read(path)
	return &Comparand{Run: run, Dir: folder}, err
}
