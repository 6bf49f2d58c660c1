package results

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
)

// A comparand is what commands compare and show: a run's report with the folder that its artifacts
// are relative to, or a profile.
type comparand struct {
	Run     *outcome.Run
	Dir     artifacts.Folder
	Profile *profile.Profile
}

// readComparand reads a leakgate.json, the folder with it, or a profile.
func readComparand(path string) (*comparand, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		data, err := cli.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s is not there: give a leakgate.json, the folder with it, or a profile, which runs keep of assertions that passed only with -artifacts all", path)
		case err != nil:
			return nil, err
		case !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")):
			p, err := cli.ParseProfile(data)
			if err != nil {
				return nil, fmt.Errorf("%s is neither a report of leakgate run nor a profile: %w", path, err)
			}
			return &comparand{Profile: p}, nil
		}
	}
	folder, _ := outcome.Locate(path)
	run, err := outcome.Read(path)
	return &comparand{Run: run, Dir: folder}, err
}
