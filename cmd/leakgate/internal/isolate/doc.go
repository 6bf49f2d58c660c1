// Package isolate runs each test of a test binary in a process of its own, several at a time, for
// assertions that must not see what other tests left behind.
//
// "go test" calls it, by its flag -exec, in place of the binary: building, events, time limits and
// exit codes stay the go command's.
package isolate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// name is the first argument when go test calls this program. No user's command has this name.
const name = "-isolate-tests"

// A Folder is what the processes of a run share: slots, each a file that is locked by whoever runs
// a test process, and the count of processes.
type Folder struct {
	Dir   string
	claim *os.File
}

// tempMark begins the names of these folders.
const tempMark = "leakgate-isolate-"

// NewFolder makes a folder for one run of go test. Close removes it.
func NewFolder() (*Folder, error) {
	wholefile.RemoveUnclaimed(os.TempDir(), tempMark) // of killed processes
	dir, err := os.MkdirTemp("", tempMark)
	if err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir}
	if f.claim, err = os.Open(dir); err == nil {
		wholefile.Claim(f.claim, dir)
	}
	return f, nil
}

// Close removes the folder.
func (f *Folder) Close() {
	_ = os.RemoveAll(f.Dir)
	if f.claim != nil {
		_ = f.claim.Close()
	}
}

// Flag returns the value of go test's -exec with which it calls this program, self, with at most
// this many test processes at a time over all packages.
func (f *Folder) Flag(self string, most int) (string, error) {
	words := []string{self, name, f.Dir, strconv.Itoa(most)}
	flag, err := gotest.JoinQuoted(words)
	if err != nil {
		return "", fmt.Errorf("-isolate: the path %w", err)
	}
	return flag, nil
}

// countName is the file that has a byte for each process that ran.
const countName = "processes"

// Processes returns how many processes ran tests.
func (f *Folder) Processes() int {
	info, err := os.Stat(filepath.Join(f.Dir, countName))
	if err != nil {
		return 0
	}
	return int(info.Size())
}

// Asked reports whether go test has called this process, with args after its name.
func Asked(args []string) bool { return len(args) > 3 && args[0] == name }

// Main does all the work of a process that go test has called. It returns the exit code.
func Main(args []string) int {
	most, err := strconv.Atoi(args[2])
	if err == nil && most < 1 {
		err = errors.New("it is less than 1")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "leakgate: %s: %v\n", name, err)
		return 2
	}
	r := newRun(args[1], most, args[3], args[4:])
	return r.all()
}
