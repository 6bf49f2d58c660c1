// Package artifacts manages the directory that a run of leakgate writes: it creates and clears it,
// and gathers the records that test binaries leave there.
package artifacts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/leakgate/leakgate/internal/wholefile"
)

const (
	// DefaultName is the directory's name where none is given.
	DefaultName = "leakgate-artifacts"
	// ReportName is the file in it that describes the whole run.
	ReportName = "leakgate.json"
	// PageName is the page in it that shows the run.
	PageName = "leak.html"

	recordsName = "tests"
	baseName    = "base"
	ignoreName  = ".gitignore"
	markerName  = ".leakgate-artifacts"
	markerText  = `leakgate run writes this directory. At its start it removes the folders "tests" and "base"
and the files "leakgate.json" and "leak.html" that lie here. It touches nothing else, and no directory without this file.
`
)

// A Dir is an artifacts directory that this process owns, until it is closed or the process ends.
type Dir struct {
	Path string // absolute

	adopted int64    // bytes that Adopt has copied
	made    []string // files and folders that Open made where no artifacts directory was, the last first

	marker *os.File // locked: two runs at a time would mix their records, or remove each other's
}

// Open makes path an empty artifacts directory: it creates it, or clears what an earlier run left.
// A directory with files but without leakgate's marker belongs to somebody else, which is an error;
// so is a directory that another process has open. git ignores everything in it.
func Open(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("artifacts directory %s: %w", path, err)
	}
	d := &Dir{Path: abs}
	if err := d.open(); err != nil {
		d.Close()
		return nil, fmt.Errorf("artifacts directory %s: %w", path, err)
	}
	return d, nil
}

func (d *Dir) open() error {
	if err := d.claim(); err != nil {
		return err
	}
	var err error
	if d.marker, err = os.Open(filepath.Join(d.Path, markerName)); err != nil {
		return err
	}
	if !lock(d.marker) {
		return errors.New("another run is writing to it: wait for its end, or give this one a directory of its own with -o")
	}
	if err := d.clear(); err != nil {
		return fmt.Errorf("clearing the last run: %w", err)
	}
	return os.Mkdir(d.Records(), 0o777)
}

// Close releases the directory for another run. Its files stay.
func (d *Dir) Close() {
	if d.marker != nil {
		_ = d.marker.Close()
	}
}

// Discard closes the directory and removes what Open and others have written to it. The directory
// itself goes, too, with the folders above it that Open made. One that was there before stays,
// without a run.
func (d *Dir) Discard() error {
	err := d.clear()
	var left []string
	for _, path := range d.made { // without its marker first, so that no other run takes it meanwhile
		if os.Remove(path) != nil {
			left = append(left, path)
		}
	}
	d.Close()
	for _, path := range left { // Windows removes no file that is open
		_ = os.Remove(path)
	}
	return err
}

// Reset removes all records, for another run of the tests.
func (d *Dir) Reset() error {
	if err := os.RemoveAll(d.Records()); err != nil {
		return fmt.Errorf("artifacts directory: %w", err)
	}
	if err := os.Mkdir(d.Records(), 0o777); err != nil {
		return fmt.Errorf("artifacts directory: %w", err)
	}
	return nil
}

// Records is the directory that test binaries get as LEAKGATE_ARTIFACTS.
func (d *Dir) Records() string { return filepath.Join(d.Path, recordsName) }

// Base is the directory for the golden files of a run's base. Open does not create it.
func (d *Dir) Base() string { return filepath.Join(d.Path, baseName) }

// Report is the path of the file that describes the whole run.
func (d *Dir) Report() string { return filepath.Join(d.Path, ReportName) }

// Page is the path of the page that shows the run.
func (d *Dir) Page() string { return filepath.Join(d.Path, PageName) }

// claim takes the directory for leakgate, or fails if it belongs to somebody else.
func (d *Dir) claim() error {
	if info, err := os.Stat(d.Path); err == nil && !info.IsDir() {
		return errors.New("it is a file: give a directory with -o")
	}
	marker := filepath.Join(d.Path, markerName)
	_, err := os.Lstat(marker)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	missing := missingFolders(d.Path)
	if err := os.MkdirAll(d.Path, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("it has files (%s, ...) and was not made by leakgate: give another with -o, or empty it", entries[0].Name())
	}
	ignore := filepath.Join(d.Path, ignoreName)
	d.made = append([]string{ignore, marker}, missing...)
	// The marker comes first: a run that dies before the second file is written leaves a directory
	// that the next run can use.
	if err := os.WriteFile(marker, []byte(markerText), 0o666); err != nil {
		return err
	}
	return os.WriteFile(ignore, []byte("*\n"), 0o666)
}

// missingFolders returns path and the folders above it that are not there, path first.
func missingFolders(path string) (missing []string) {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = append(missing, path)
		if filepath.Dir(path) == path { // a drive of Windows
			return missing
		}
		path = filepath.Dir(path)
	}
}

// clear removes what an earlier run wrote.
func (d *Dir) clear() error {
	if err := os.RemoveAll(d.Base()); err != nil {
		return err
	}
	if err := os.RemoveAll(d.Records()); err != nil {
		return err
	}
	for _, file := range []string{d.Report(), d.Page()} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// WriteReport writes the run's file as a whole, so that no reader sees half of it.
func (d *Dir) WriteReport(write func(w io.Writer) error) error { return writeFile(d.Report(), write) }

// WritePage writes the page, as a whole.
func (d *Dir) WritePage(write func(w io.Writer) error) error { return writeFile(d.Page(), write) }

func writeFile(path string, write func(w io.Writer) error) error {
	if err := wholefile.Write(path, 0o666, write); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
