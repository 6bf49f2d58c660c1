// Package goldenset finds the golden files of packages, and the tests that they belong to. It reads
// folders and the text of tests only, so it works if nothing builds.
package goldenset

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Below is the folder of golden files in a package's folder.
var Below = filepath.Join("testdata", "leakcheck")

// A Config says where to look.
type Config struct {
	Dir string // that patterns are relative to; "" is the current one
	Env []string
}

// Packages returns the folders of packages that patterns name, sorted, as paths that begin with
// cfg.Dir. Patterns are those of the go command. A local pattern ("./...", "../x") is looked up in
// the file system: a folder counts even if its package is broken or gone. The go command looks up
// any other pattern.
func Packages(cfg Config, patterns []string) ([]string, error) {
	found := make(map[string]bool)
	var remote []string
	for _, pattern := range patterns {
		if !build.IsLocalImport(pattern) && !filepath.IsAbs(pattern) {
			remote = append(remote, pattern)
			continue
		}
		if err := cfg.local(pattern, found); err != nil {
			return nil, err
		}
	}
	if len(remote) > 0 {
		if err := cfg.list(remote, found); err != nil {
			return nil, err
		}
	}
	folders := make([]string, 0, len(found))
	for f := range found {
		folders = append(folders, f)
	}
	slices.Sort(folders)
	return folders, nil
}

// local adds the folders that one local pattern names.
func (cfg Config) local(pattern string, found map[string]bool) error {
	base, rest, wild := strings.Cut(filepath.ToSlash(pattern), "...")
	if wild && (rest != "" || base != "" && !strings.HasSuffix(base, "/")) {
		return fmt.Errorf("%s: only a pattern that ends in /... is understood here", pattern)
	}
	top := filepath.FromSlash(base)
	if !filepath.IsAbs(top) {
		top = filepath.Join(cfg.Dir, top)
	}
	info, err := os.Stat(top)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder", pattern)
	}
	if !wild {
		found[top] = true
		return nil
	}
	return filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case path != top && !isPackageFolder(path):
			return filepath.SkipDir
		}
		found[path] = true
		return nil
	})
}

// isPackageFolder reports whether the go command's "..." goes into a folder: not into testdata,
// vendor, hidden folders and other modules ("go help packages").
func isPackageFolder(path string) bool {
	name := filepath.Base(path)
	if name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_' {
		return false
	}
	_, err := os.Lstat(filepath.Join(path, "go.mod"))
	return errors.Is(err, fs.ErrNotExist)
}

// list asks the go command for the folders of packages.
func (cfg Config) list(patterns []string, found map[string]bool) error {
	cmd := exec.Command("go", append([]string{"list", "-find", "-f", "{{.Dir}}", "--"}, patterns...)...)
	cmd.Dir, cmd.Env = cfg.Dir, cfg.Env
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("go list: %s", strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		found[strings.TrimSuffix(line, "\n")] = true
	}
	return nil
}
