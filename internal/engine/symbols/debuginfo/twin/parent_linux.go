package twin

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/procfs"
)

// maxAncestors is how many ancestors are searched for go test: its -exec wrapper may be in between.
const maxAncestors = 5

// findGoTest finds the go test that runs this process among its ancestors. It accepts a go test
// only if its child is this process, a process that was told to run this executable, or the
// executable that this one was copied from: a test may run the binaries of other tests.
func findGoTest() (process, bool) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return process{}, false
	}
	child, pid := os.Getpid(), os.Getppid()
	for range maxAncestors {
		if pid <= 1 {
			break
		}
		proc := procDir(pid)
		exe, err := os.Readlink(filepath.Join(proc, "exe"))
		if err == nil && isGoCommand(exe) {
			if p, ok := readGoTest(proc, exe); ok {
				if child == os.Getpid() || runs(child, self) {
					return p, true
				}
				p.original = originalOf(self, child)
				return p, p.original != ""
			}
		}
		child = pid
		stat, err := procfs.ReadStat(proc)
		if err != nil {
			break
		}
		pid = int(stat.Parent)
	}
	return process{}, false
}

func procDir(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid)) }

// runs reports whether an executable is on a process's command line.
func runs(pid int, exe string) bool {
	args, err := readList(filepath.Join(procDir(pid), "cmdline"))
	return err == nil && slices.Contains(args, exe)
}

// originalOf returns the executable of a process if another executable is a copy of it, else "". It
// goes by their sizes: what is linked for a wrong program is refused (Check).
func originalOf(exe string, pid int) string {
	path, err := os.Readlink(filepath.Join(procDir(pid), "exe"))
	if err != nil {
		return ""
	}
	original, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(exe); err != nil || info.Size() != original.Size() {
		return ""
	}
	return path
}

func readGoTest(proc, exe string) (process, bool) {
	args, err := readList(filepath.Join(proc, "cmdline"))
	if err != nil || !slices.Contains(args, "test") {
		return process{}, false
	}
	dir, err := os.Readlink(filepath.Join(proc, "cwd"))
	if err != nil {
		return process{}, false
	}
	return process{exe: exe, args: args, dir: dir}, true
}

// initialEnviron is the environment that the process was started with.
func initialEnviron() []string {
	env, err := readList("/proc/self/environ")
	if err != nil || len(env) == 0 {
		return startEnviron
	}
	return env
}

// readList reads a file of strings that end with a zero byte.
func readList(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := strings.TrimSuffix(string(b), "\x00")
	if s == "" {
		return nil, nil
	}
	return strings.Split(s, "\x00"), nil
}
