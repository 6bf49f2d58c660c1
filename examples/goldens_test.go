package examples

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const goldenFolder = "testdata/leakcheck"

var update = flag.Bool("update", false, "rewrite the golden files of both sides from the fixed twins first")

// TestGoldens makes the golden files of the fixed twins anew, in a copy of the module, and expects the
// bytes that are checked in, whatever the mode.
func TestGoldens(t *testing.T) {
	modes := []struct {
		name, env string
		args      []string
	}{
		{name: "plain"},
		{name: "race", args: []string{"-race"}},
		{name: "GOMAXPROCS=1", env: "GOMAXPROCS=1"},
		{name: "GOMAXPROCS=2", env: "GOMAXPROCS=2"},
		{name: "GOMAXPROCS=8", env: "GOMAXPROCS=8"},
	}
	each(t, func(t *testing.T, e example) {
		if *update {
			updateGoldens(t, e)
		}
		files := filesOf(t, e, "fixed")
		for _, mode := range modes {
			t.Run(mode.name, func(t *testing.T) {
				t.Parallel()
				if mode.name == "race" {
					needRace(t)
				}
				dir := copyWithoutGoldens(t, files)
				var env []string
				if mode.env != "" {
					env = append(env, mode.env)
				}
				args := append([]string{"-run=^TestRetained$", "."}, mode.args...)

				made := goTest(t, dir, append(env, "LEAKCHECK_UPDATE=1"), append(args, "-count=1")...)
				if !made.passed {
					t.Fatalf("the update failed:\n%s", made.output)
				}
				compareGoldens(t, files, dir)
				again := goTest(t, dir, env, append(args, "-count="+strconv.Itoa(*repeat))...)
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
	r := goTest(t, fixed, []string{"LEAKCHECK_UPDATE=1"}, "-count=1", "-run=^TestRetained$", ".")
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

// copyWithoutGoldens writes the module to a new folder, with leakgate still taken from this checkout.
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
