package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
)

// A workFile is the content of a workspace file.
type workFile struct {
	goVersion string // at least that of each module used
	toolchain string
	godebug   []setting
	use       []string // folders, absolute
	replace   []replacement
	sum       []byte // of go.work.sum; nil: there is none
	vendor    string // folder; "": nothing is vendored
	// files that stand for others, by name: a go.mod that -modfile names
	overlay map[string]string
}

type setting struct{ Key, Value string }

type moduleVersion struct{ Path, Version string }

type replacement struct{ Old, New moduleVersion }

// goMod and goWork are the files as "go mod edit -json" and "go work edit -json" print them.
type goMod struct {
	Module  moduleVersion
	Go      string
	Godebug []setting
}

type goWork struct {
	Go      string
	Godebug []setting
	Use     []struct{ DiskPath string }
	Replace []replacement
}

// errNoModule is for packages outside of any module.
var errNoModule = errors.New("-auto needs a module: make one with \"go mod init\"")

// readModules makes a workspace of the packages' modules, for a user who has no workspace.
func (s *workFile) readModules(cfg Config) error {
	for _, p := range cfg.Packages {
		if p.Module == nil || p.Module.Dir == "" {
			return fmt.Errorf("%s: %w", p.ImportPath, errNoModule)
		}
		if p.Module.Path == modulePath {
			return errors.New("-auto links leakcheck into tests, which this module has itself: run its tests without it")
		}
		if slices.Contains(s.use, p.Module.Dir) {
			continue
		}
		var mod goMod
		if err := goJSON(p.Module.Dir, cfg.Env, &mod, "mod", "edit", "-json", p.Module.GoMod); err != nil {
			return err
		}
		s.use = append(s.use, p.Module.Dir)
		s.modfile(p.Module)
		s.atLeast(mod.Go)
		s.godebug = mod.Godebug
		// The runtime's defaults depend on the go line of the main module, or of the workspace.
		s.defaultOf(cmp.Or(mod.Go, "1.20")) // go1.26 internal/godebugs: nothing is older
		if info, err := os.Stat(filepath.Join(p.Module.Dir, "vendor", "modules.txt")); err == nil && info.Mode().IsRegular() {
			s.vendor = filepath.Join(p.Module.Dir, "vendor")
		}
	}
	return nil
}

// modfile shows the go command a file that -modfile names, and the sums beside it, in place of
// go.mod and go.sum: a workspace refuses that flag.
func (s *workFile) modfile(m *source.Module) {
	if m.GoMod == filepath.Join(m.Dir, "go.mod") {
		return
	}
	if s.overlay == nil {
		s.overlay = make(map[string]string)
	}
	s.overlay[filepath.Join(m.Dir, "go.mod")] = m.GoMod
	sum := strings.TrimSuffix(m.GoMod, ".mod") + ".sum"
	if _, err := os.Stat(sum); err == nil {
		s.overlay[filepath.Join(m.Dir, "go.sum")] = sum
	}
}

// readWork copies the user's workspace file.
func (s *workFile) readWork(file string, cfg Config) error {
	var work goWork
	if err := goJSON(cfg.Dir, cfg.Env, &work, "work", "edit", "-json", file); err != nil {
		return err
	}
	dir := filepath.Dir(file)
	s.atLeast(work.Go)
	s.godebug = work.Godebug
	s.defaultOf(cmp.Or(work.Go, "1.20"))
	for _, u := range work.Use {
		s.use = append(s.use, absolute(dir, u.DiskPath))
	}
	for _, r := range work.Replace {
		if r.New.Version == "" {
			r.New.Path = absolute(dir, r.New.Path)
		}
		s.replace = append(s.replace, r)
	}
	for _, p := range cfg.Packages {
		if p.Module == nil || p.Module.Path == modulePath {
			return errors.New("-auto links leakcheck into tests, which this module has itself: run its tests without it")
		}
	}
	sum, err := os.ReadFile(file + ".sum")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.sum = sum
	if info, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt")); err == nil && info.Mode().IsRegular() {
		s.vendor = filepath.Join(dir, "vendor")
	}
	return nil
}

func absolute(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// atLeast raises a go line below goVersion to goVersion.
func (s *workFile) atLeast(goVersion string) {
	if goVersion != "" && version.Compare("go"+goVersion, "go"+s.goVersion) > 0 {
		s.goVersion = goVersion
	}
}

// defaultOf keeps the runtime's defaults of a go line, unless the file sets a default itself.
func (s *workFile) defaultOf(goVersion string) {
	if slices.ContainsFunc(s.godebug, func(g setting) bool { return g.Key == "default" }) {
		return
	}
	s.godebug = append([]setting{{"default", version.Lang("go" + goVersion)}}, s.godebug...)
}

// text returns the content of the workspace file.
func (s *workFile) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "go %s\n", s.goVersion)
	if s.toolchain != "" && version.Compare(s.toolchain, "go"+s.goVersion) >= 0 {
		fmt.Fprintf(&b, "toolchain %s\n", s.toolchain)
	}
	for _, g := range s.godebug {
		fmt.Fprintf(&b, "godebug %s=%s\n", g.Key, g.Value)
	}
	for _, dir := range s.use {
		fmt.Fprintf(&b, "use %q\n", dir)
	}
	for _, r := range s.replace {
		fmt.Fprintf(&b, "replace %s => %s\n", r.Old, r.New)
	}
	return b.String()
}

// String writes the module as a go.work file has it.
func (m moduleVersion) String() string {
	return strings.TrimSpace(fmt.Sprintf("%q %s", m.Path, m.Version))
}
