package examples

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTwins checks that the tests and goldens of both sides are the same, that TestLeaky expects
// all of these tests to fail, and that the sides differ in the version of the upstream module or in
// the program, not in both.
func TestTwins(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		leaky, fixed := filesOf(t, e, "leaky"), filesOf(t, e, "fixed")
		if l, f := slices.Sorted(maps.Keys(leaky)), slices.Sorted(maps.Keys(fixed)); !slices.Equal(l, f) {
			t.Fatalf("leaky has the files %v, fixed has %v", l, f)
		}
		var tests []string
		for name, content := range leaky {
			same := bytes.Equal(content, fixed[name])
			isTest := strings.HasSuffix(name, "_test.go")
			isProgram := strings.HasSuffix(name, ".go") && !isTest
			oneVersion := e.leaky == e.fixed
			switch {
			case strings.HasPrefix(name, "go."): // go.mod, go.sum
			case isProgram && oneVersion && same:
				t.Errorf("%s: both sides are the same", name)
			case !(isProgram && oneVersion) && !same:
				t.Errorf("%s: the sides differ", name)
			}
			if isTest {
				for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(content, -1) {
					tests = append(tests, string(m[1]))
				}
			}
		}
		slices.Sort(tests)
		if want := slices.Sorted(maps.Keys(e.fails)); !slices.Equal(tests, want) {
			t.Errorf("the tests are %v, those expected to fail are %v", tests, want)
		}
		if e.upstream == "" {
			return
		}
		for side, version := range map[string]string{"leaky": e.leaky, "fixed": e.fixed} {
			files := map[string]map[string][]byte{"leaky": leaky, "fixed": fixed}[side]
			if !bytes.Contains(files["go.mod"], []byte(e.upstream+" "+version+"\n")) {
				t.Errorf("%s/go.mod does not require %s %s", side, e.upstream, version)
			}
		}
	})
}

// filesOf reads the files of one side, by their slash-separated path, except for the artifacts that
// leakgate run left there.
func filesOf(t *testing.T, e example, side string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	root := module(t, e, side)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "leakgate-artifacts" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
