package workspace

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
)

// A Listing is what tests of some packages are built from.
type Listing struct {
	// Versions are those of modules other than the user's, by path; for a replaced module, "=> "
	// and its replacement. Test binaries do not record all of them.
	Versions map[string]string
	Own      []Listed        // packages of the user's modules
	OnlyTest map[string]bool // those that help tests, and that no other code imports
}

// A Listed is a package, without its test files.
type Listed struct {
	ImportPath, Dir string
	GoFiles         []string
}

// List runs one "go list" for the tests of packages. args are build flags. What cannot be listed is
// left out.
func (w *Workspace) List(dir string, packages []*source.Package, args []string) (*Listing, error) {
	args, overlay, err := w.flags(args, nil)
	if err != nil {
		return nil, err
	}
	flag, err := writeOverlay(w.Dir, overlay)
	if err != nil {
		return nil, err
	}
	all := append([]string{"list", "-e", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,Imports,Standard,ForTest,Module", flag}, args...)
	for _, p := range packages {
		all = append(all, p.ImportPath)
	}
	cmd := exec.Command("go", all...)
	cmd.Dir, cmd.Env = dir, w.env
	out, _ := cmd.Output()
	l := &Listing{Versions: make(map[string]string), OnlyTest: make(map[string]bool)}
	importers := make(map[string]bool) // whether code other than tests imports a package
	helps := make(map[string]bool)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p struct {
			Listed
			Imports  []string
			Standard bool
			ForTest  string
			Module   *struct {
				Path, Version string
				Main          bool
				Replace       *struct{ Path, Version string }
			}
		}
		if dec.Decode(&p) != nil {
			break
		}
		if p.Standard || p.Module == nil {
			continue
		}
		test := p.ForTest != "" || strings.HasSuffix(p.ImportPath, ".test")
		for _, of := range p.Imports {
			of, _, _ = strings.Cut(of, " ")
			if of == p.ForTest || of+".test" == p.ImportPath {
				continue // its own tests
			}
			importers[of] = importers[of] || !test
			helps[p.ImportPath] = helps[p.ImportPath] || !test && (of == "testing" || of == "net/http/httptest")
		}
		switch {
		case !w.isOwn(p.Module.Path):
			l.Versions[p.Module.Path] = p.Module.Version
			if r := p.Module.Replace; r != nil {
				l.Versions[p.Module.Path] = strings.TrimSpace("=> " + r.Path + " " + r.Version)
			}
		case !test:
			l.Own = append(l.Own, p.Listed)
		}
	}
	for _, p := range l.Own {
		elem := path.Base(p.ImportPath)
		named := strings.Contains(elem, "test") || strings.Contains(elem, "mock") || strings.Contains(elem, "fake")
		if other, imported := importers[p.ImportPath]; imported && !other && (helps[p.ImportPath] || named) {
			l.OnlyTest[p.ImportPath] = true
		}
	}
	return l, nil
}

// isOwn reports whether a module is one of the user's.
func (w *Workspace) isOwn(module string) bool { return w.Modules[module] != "" || module == modulePath }

// Instrument writes the files of the user's packages with calls that count what they hand out and
// what is ended, and adds them to all builds.
func (w *Workspace) Instrument(l *Listing, f *source.Finder) error {
	dir, err := w.Folder("instrumented")
	if err != nil {
		return err
	}
	w.instrumented = make(map[string]string)
	for _, p := range l.Own {
		if l.OnlyTest[p.ImportPath] || !w.isOwn(p.ImportPath) && strings.HasPrefix(p.ImportPath, modulePath+"/") {
			continue
		}
		if err := f.InstrumentAll(p.ImportPath, p.Dir, p.GoFiles, endedPath, func(file string, text []byte) error {
			return w.replace(dir, file, text)
		}); err != nil {
			return err
		}
	}
	return nil
}
