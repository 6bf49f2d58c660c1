//go:build go1.26

package golden

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "testdata", "leakcheck", "TestX", "sub.golden")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("Read of nothing: %v", err)
	}
	f := New([]Measurement{{Path: "a", Type: "T", Objects: 1, Bytes: 8}})
	if err := Write(path, f); err != nil {
		t.Fatal(err)
	}
	g, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(g.Bytes()) != string(f.Bytes()) || g.Name() != path {
		t.Errorf("%s:\n%s", g.Name(), g.Bytes())
	}
	onlyFile(t, path)
}

// onlyFile checks that nothing else is left in the file's folder.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestWriteTouchesOnlyWhatChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.golden")
	f := New([]Measurement{{Path: "a", Type: "T", Objects: 1, Bytes: 8}})
	old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, text := range []string{string(f.Bytes()), strings.ReplaceAll(string(f.Bytes()), "\n", "\r\n")} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		if err := Write(path, f); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || !info.ModTime().Equal(old) {
			t.Errorf("equal text was written again: %v %v", info.ModTime(), err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("text changed to %q", got)
		}
	}
	g, _ := f.Update([]Measurement{{Path: "a", Type: "T", Objects: 2, Bytes: 8}})
	if err := Write(path, g); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != string(g.Bytes()) {
		t.Errorf("changed text was not written: %q", got)
	}
	onlyFile(t, path)
}

func TestWriteKeepsModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes, and links need a privilege")
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.golden"), filepath.Join(dir, "x.golden")
	if err := os.WriteFile(target, []byte(v1), 0o600); err != nil {
		t.Fatal(err)
	}
	// A link to a link by way of a linked folder, whose parent is not the one that the path has.
	if err := os.MkdirAll(filepath.Join(dir, "far", "away"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"shortcut": "far/away", "far/back.golden": target, "x.golden": "shortcut/../back.golden"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	f := New([]Measurement{{Path: "a", Type: "T", Objects: 1, Bytes: 8}})
	if err := Write(link, f); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(target); string(got) != string(f.Bytes()) {
		t.Errorf("the link's target has %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is now %v %v", info.Mode(), err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}

	circle := filepath.Join(dir, "circle.golden")
	if err := os.Symlink("circle.golden", circle); err != nil {
		t.Fatal(err)
	}
	if err := Write(circle, f); err == nil {
		t.Error("a link to itself was written")
	}
}

func TestWriteErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	var f File
	below := filepath.Join(file, "x.golden")
	if err := Write(below, &f); err == nil || !strings.Contains(err.Error(), below) {
		t.Errorf("Write below a file: %v", err)
	}
	if err := Write(dir, &f); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("Write to a folder: %v", err)
	}
	huge := New([]Measurement{{Path: strings.Repeat("x", MaxSize), Objects: 1}})
	if err := Write(filepath.Join(dir, "huge.golden"), huge); err == nil || !strings.Contains(err.Error(), "huge.golden") {
		t.Errorf("Write of a huge file: %v", err)
	}
	if got, _ := os.ReadFile(file); string(got) != "keep" {
		t.Errorf("the file in the way has %q", got)
	}
	onlyFile(t, file)
}

func TestReadBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.golden")
	if err := os.WriteFile(path, make([]byte, 2*MaxSize), 0o644); err != nil {
		t.Fatal(err)
	}
	var syntax *SyntaxError
	if _, err := Read(path); !errors.As(err, &syntax) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("Read of a huge file: %v", err)
	}
}

func TestCase(t *testing.T) {
	dir := t.TempDir()
	join := func(elements ...string) string { return filepath.Join(append([]string{dir}, elements...)...) }
	var f File
	for _, path := range []string{join("testdata", "leakcheck", "TestX", "GET.golden"), join("Other", "A.golden")} {
		if err := Write(path, &f); err != nil {
			t.Fatal(err)
		}
		if err := Write(path, &f); err != nil {
			t.Errorf("written again: %v", err)
		}
	}
	tests := []struct{ path, existing string }{
		{join("testdata", "leakcheck", "TestX", "get.golden"), join("testdata", "leakcheck", "TestX", "GET.golden")},
		{join("testdata", "leakcheck", "TESTX", "post.golden"), join("testdata", "leakcheck", "TestX")},
		{join("Other", "a.golden"), join("Other", "A.golden")},
		{join("testdata", "leakcheck", "TestX", "post.golden"), ""},
		{join("testdata", "leakcheck", "TestXY", "get.golden"), ""},
	}
	for _, tt := range tests {
		err := Write(tt.path, &f)
		var clash *CaseError
		if errors.As(err, &clash) != (tt.existing != "") {
			t.Errorf("Write(%s): %v", tt.path, err)
		} else if clash != nil && (clash.Existing != tt.existing || clash.Path != tt.path) {
			t.Errorf("Write(%s): %+v, want it to clash with %s", tt.path, clash, tt.existing)
		} else if clash != nil && (!strings.Contains(err.Error(), tt.path) || !strings.Contains(err.Error(), tt.existing)) {
			t.Errorf("the message does not name both: %s", err)
		}
		if _, err := os.ReadDir(filepath.Dir(tt.path)); tt.existing == "" && err != nil {
			t.Error(err)
		}
	}
}

// Two files whose names differ only in case are told apart if both are there, on systems where both
// can be.
func TestCaseOfBoth(t *testing.T) {
	dir := t.TempDir()
	upper, lower := filepath.Join(dir, "A.golden"), filepath.Join(dir, "a.golden")
	for _, path := range []string{upper, lower} {
		if err := os.WriteFile(path, []byte(v1), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Skipf("this file system does not tell case apart: %d entries, %v", len(entries), err)
	}
	for _, path := range []string{upper, lower} {
		if _, err := Read(path); err != nil {
			t.Error(err)
		}
		if err := Write(path, New([]Measurement{{Path: path, Objects: 1}})); err != nil {
			t.Error(err)
		}
	}
}

// Readers see the old file or the new one, whatever the writers do.
func TestWriteAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.golden")
	texts := make(map[string]bool)
	var files []*File
	for i := range int64(4) {
		f := New([]Measurement{{Path: strings.Repeat("a", 1000), Type: "T", Objects: i + 1, Bytes: 8}})
		files = append(files, f)
		texts[string(f.Bytes())] = true
	}
	if err := Write(path, files[0]); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, f := range files {
		wg.Go(func() {
			for range 50 {
				if err := Write(path, f); err != nil {
					t.Error(err)
				}
				data, err := readBounded(path)
				if err != nil || !texts[string(data)] {
					t.Errorf("read %d bytes, %v", len(data), err)
				}
			}
		})
	}
	wg.Wait()
	onlyFile(t, path)
}

// A link that leads out of the module, or to what is no golden file, is neither read nor written.
func TestLinksOutside(t *testing.T) {
	dir := t.TempDir()
	module, outside := filepath.Join(dir, "module"), filepath.Join(dir, "outside.golden")
	text := filepath.Join(module, "secret.txt")
	for name, data := range map[string]string{filepath.Join(module, "go.mod"): "module m\n", outside: v1, text: v1} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := New([]Measurement{{Path: "a", Type: "T", Objects: 1, Bytes: 8}})
	for target, why := range map[string]string{outside: "outside of its module", text: "no golden file by its name"} {
		link := filepath.Join(module, "x.golden")
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
		if to, err := os.Readlink(link); err != nil || to != target {
			t.Skip("the system says that it made a link, and did not: ", to, err) // wine 8
		}
		_, err := Read(link)
		for _, err := range []error{err, Write(link, f)} {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v", target, err)
			}
		}
		if got, _ := os.ReadFile(target); string(got) != v1 {
			t.Errorf("%s was written: %q", target, got)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}
