package artifacts

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// A Folder is the path of an artifacts directory that is read. Another machine may have made it,
// and somebody may have changed it: nothing outside of it is read, whatever names it has and
// wherever its links lead, nothing but ordinary files, and none without a limit.
type Folder string

// Read reads a file, given by its slash path below the folder, of at most limit bytes.
func (f Folder) Read(name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	local := filepath.FromSlash(name)
	info, err := root.Stat(local) // opening a pipe would wait for its writer
	if err != nil {
		return nil, fmt.Errorf("artifacts %s: %w", f, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("artifacts %s: %s is no ordinary file", f, name)
	}
	file, err := root.Open(local)
	if err != nil {
		return nil, fmt.Errorf("artifacts %s: %w", f, err)
	}
	defer func() { _ = file.Close() }()
	return wholefile.ReadAll(file, name, limit)
}

// Profile reads a profile, given by its slash path below the folder.
func (f Folder) Profile(name string) (*profile.Profile, error) {
	data, err := f.Read(name, wholefile.Most)
	if err != nil {
		return nil, err
	}
	p, err := cli.ParseProfile(data)
	if err != nil {
		return nil, fmt.Errorf("%s is no profile: %w", name, err)
	}
	return p, nil
}
