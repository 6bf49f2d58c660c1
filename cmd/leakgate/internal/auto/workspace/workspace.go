// Package workspace builds test binaries of a user's packages with leakcheck linked into them. It
// changes no file of the user's: a workspace file adds the library to the build, and an overlay
// adds the code that registers the tests. Both are in a temporary folder.
package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// A Workspace is the temporary folder of a run.
type Workspace struct {
	Dir     string
	Modules map[string]string // folders of the user's modules, by path
	env     []string          // environment of the go command

	overlay      map[string]string // files that stand for the user's
	instrumented map[string]string // further ones, in builds
	claim        *os.File          // tells other processes that the folder is in use
}

// Config says what a workspace is for.
type Config struct {
	Dir       string   // where the go command runs
	Env       []string // of the user
	GOVERSION string   // of the toolchain that Dir's module selects
	Packages  []*source.Package
}

// Open makes a workspace of the modules of packages. Close removes it.
func Open(cfg Config) (*Workspace, error) {
	library, err := Library()
	if err != nil {
		return nil, fmt.Errorf("writing the library: %w", err)
	}
	// The folder is not below the user's, and without links: the go command compares folders by
	// name.
	wholefile.RemoveUnclaimed(os.TempDir(), tempMark) // of killed processes
	dir, err := os.MkdirTemp("", tempMark)
	if err != nil {
		return nil, err
	}
	w := &Workspace{Dir: dir, Modules: make(map[string]string)}
	if w.claim, err = os.Open(dir); err == nil {
		wholefile.Claim(w.claim, dir)
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		w.Dir = resolved
	}
	if err := w.write(cfg, library); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// tempMark begins the names of these folders.
const tempMark = "leakgate-auto-"

// Close removes the folder.
func (w *Workspace) Close() {
	_ = os.RemoveAll(w.Dir)
	if w.claim != nil {
		_ = w.claim.Close()
	}
}

// Folder makes a folder in the workspace.
func (w *Workspace) Folder(name string) (string, error) {
	dir := filepath.Join(w.Dir, name)
	return dir, os.MkdirAll(dir, 0o777)
}

// write writes the workspace file.
func (w *Workspace) write(cfg Config, library string) error {
	var user goEnv
	if err := user.read(cfg.Dir, cfg.Env); err != nil {
		return err
	}
	s := workFile{goVersion: "1.24.0"}
	if user.GOWORK != "" && user.GOWORK != "off" {
		if err := s.readWork(user.GOWORK, cfg); err != nil {
			return err
		}
	} else if err := s.readModules(cfg); err != nil {
		return err
	}
	if gotest.IsRelease(cfg.GOVERSION) {
		s.toolchain = cfg.GOVERSION
	}
	for _, dir := range s.use {
		var mod goMod
		if err := goJSON(dir, cfg.Env, &mod, "mod", "edit", "-json", filepath.Join(dir, "go.mod")); err != nil {
			return err
		}
		w.Modules[mod.Module.Path] = dir
	}
	s.use = append(s.use, library)
	file := filepath.Join(w.Dir, "go.work")
	if err := os.WriteFile(file, []byte(s.text()), 0o666); err != nil {
		return err
	}
	if s.sum != nil {
		if err := os.WriteFile(file+".sum", s.sum, 0o666); err != nil {
			return err
		}
	}
	if s.vendor != "" {
		absolute := make(map[string]bool)
		for _, r := range s.replace {
			absolute[r.Old.Path] = true
		}
		if err := vendor(w.Dir, s.vendor, absolute); err != nil {
			return err
		}
	}
	w.overlay = s.overlay
	w.env = append(slices.Clone(cfg.Env), "GOWORK="+file, "GOFLAGS="+withoutMod(user.GOFLAGS))
	return nil
}

// goEnv has variables that "go env" prints.
type goEnv struct{ GOWORK, GOFLAGS string }

func (e *goEnv) read(dir string, env []string) error {
	return goJSON(dir, env, e, "env", "-json", "GOWORK", "GOFLAGS")
}

// goJSON runs a go command in dir and reads its output.
func goJSON(dir string, env []string, into any, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("go %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		return fmt.Errorf("go %s: %w", args[0], err)
	}
	return nil
}

// withoutMod drops -mod and -modfile from GOFLAGS: a workspace knows one mode only, and its file
// says where vendored packages are.
func withoutMod(goflags string) string {
	var kept []string
	for _, field := range strings.Fields(goflags) {
		name, _, _ := strings.Cut(strings.TrimLeft(strings.Trim(field, `'"`), "-"), "=")
		if name != "mod" && name != "modfile" {
			kept = append(kept, field)
		}
	}
	return strings.Join(kept, " ")
}
