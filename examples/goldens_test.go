package examples

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const goldenFolder = "testdata/leakcheck"

var update = flag.Bool("update", false, "rewrite the golden files of both sides from the fixed twins first")

var allModes = flag.Bool("all-modes", false, "make the goldens also with other Go versions, builds and machines, which takes minutes")

// A mode is a way to build and run the tests, which the goldens must not depend on.
type mode struct {
	name string
	env  []string
	args []string // of go test
	// with -all-modes only: compiles the standard library anew, or needs another toolchain
	long bool
	need func(*testing.T)
	// except names an example that retains something else in this mode, and says what.
	except map[string]string
}

// modes share one set of goldens, also between Go 1.26 and 1.27: what a program retains may differ
// between the two, but what these programs retain does not.
var modes = []mode{
	{name: "plain"},
	{name: "race", args: []string{"-race"}, need: needRace},
	{name: "GOMAXPROCS=1", env: []string{"GOMAXPROCS=1"}},
	{name: "GOMAXPROCS=2", env: []string{"GOMAXPROCS=2"}},
	{name: "GOMAXPROCS=8", env: []string{"GOMAXPROCS=8"}},
	{name: "cover", args: []string{"-cover", "-coverpkg=./..."}, long: true},
	{name: "pie", args: []string{"-buildmode=pie"}, long: true},
	{name: "trimpath", args: []string{"-trimpath"}, long: true},
	{name: "nogreenteagc", env: []string{"GOEXPERIMENT=nogreenteagc"}, long: true},
	{name: "go1.26.0", env: []string{"GOTOOLCHAIN=go1.26.0"}, long: true},
	{name: "go1.26.8", env: []string{"GOTOOLCHAIN=go1.26.8"}, long: true},
	{name: "go1.27.0", env: []string{"GOTOOLCHAIN=go1.27.0"}, long: true},
	{name: "go1.27.3", env: []string{"GOTOOLCHAIN=go1.27.3"}, long: true},
	// Another machine: go test runs the test binary by the emulator.
	{
		name: "arm64", env: []string{"GOARCH=arm64", "CGO_ENABLED=0"}, args: []string{"-exec=qemu-aarch64", "-ldflags=-s=0 -w=0"}, long: true, need: needEmulator,
		except: map[string]string{"wazero": "its assembler has tables of its own for each architecture, in package variables"},
	},
}

// TestGoldens makes the golden files of the fixed twins again, in a copy of the module, and expects
// the bytes that are checked in, in every mode.
func TestGoldens(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		if *update {
			updateGoldens(t, e)
		}
		files := filesOf(t, e, "fixed")
		for _, m := range modes {
			if m.long && !*allModes {
				continue
			}
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				if reason := m.except[e.folder]; reason != "" {
					t.Skip(reason)
				}
				if m.need != nil {
					m.need(t)
				}
				if e.fails["TestRetained"] == nil {
					return // it has no golden file
				}
				dir := copyWithoutGoldens(t, files)
				args := append([]string{"-run=^TestRetained$", "."}, m.args...)

				made := goTest(t, dir, append(slices.Clone(m.env), "LEAKGATE_UPDATE=1"), append(args, "-count=1")...)
				if !made.passed {
					t.Fatalf("the update failed:\n%s", made.output)
				}
				compareGoldens(t, files, dir)
				again := goTest(t, dir, m.env, append(args, "-count="+strconv.Itoa(*repeat))...)
				if !again.passed {
					t.Errorf("a new golden does not hold:\n%s", again.output)
				}
			})
		}
	})
}

// updateGoldens lets leakcheck update the fixed twin's goldens, and copies them to the leaky one.
func updateGoldens(t *testing.T, e example) {
	t.Helper()
	fixed, leaky := module(t, e, "fixed"), module(t, e, "leaky")
	r := goTest(t, fixed, []string{"LEAKGATE_UPDATE=1"}, "-count=1", "-run=^TestRetained$", ".")
	if !r.passed {
		t.Fatalf("the update failed:\n%s", r.output)
	}
	goldens := filepath.FromSlash(goldenFolder)
	if err := os.RemoveAll(filepath.Join(leaky, goldens)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(leaky, goldens), os.DirFS(filepath.Join(fixed, goldens))); err != nil {
		t.Fatal(err)
	}
}

func compareGoldens(t *testing.T, files map[string][]byte, dir string) {
	t.Helper()
	goldens := 0
	for name, want := range files {
		if !strings.HasPrefix(name, goldenFolder) {
			continue
		}
		goldens++
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		switch {
		case err != nil:
			t.Errorf("the update did not make it: %v", err)
		case !bytes.Equal(got, want):
			t.Errorf("%s differs.\nMade now:\n%s\nChecked in:\n%s", name, got, want)
		}
	}
	if goldens == 0 {
		t.Error("no golden is checked in")
	}
}

// copyWithoutGoldens writes the module to a new folder, with leakgate still taken from this
// checkout.
func copyWithoutGoldens(t *testing.T, files map[string][]byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range files {
		if strings.HasPrefix(name, goldenFolder) {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	leakgate, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "mod", "edit", "-replace=github.com/leakgate/leakgate="+leakgate)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, output)
	}
	return dir
}

// needRace skips the test where the race detector cannot be linked, except in CI.
func needRace(t *testing.T) {
	t.Helper()
	output, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err == nil && strings.TrimSpace(string(output)) == "1" {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("-race needs cgo and a C compiler, and CI must have them")
	}
	t.Skip("-race needs cgo and a C compiler")
}

// needEmulator skips the test where programs for arm64 cannot run.
func needEmulator(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("qemu-aarch64"); err != nil {
		t.Skip("qemu-aarch64 is missing; Debian has it in the package qemu-user")
	}
}
