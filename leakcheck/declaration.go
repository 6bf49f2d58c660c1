package leakcheck

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"unicode"

	"github.com/leakgate/leakgate/refscan"
)

// maxSourceSize bounds the files that are searched for a declaration.
const maxSourceSize = 4 << 20

// declaration returns where a root is declared. The compiler records that for the variables of
// functions, not for package variables (go1.26, go1.27: no DW_AT_decl_file there), so those are looked
// up in the sources, where they are at hand: the package under test and its module, the module cache,
// the standard library. It returns an empty site where there is no telling.
func (e *environment) declaration(root *branch) site {
	info := root.root
	if info.File != "" || info.Kind != refscan.RootGlobal {
		return site{info.File, info.Line}
	}
	name := strings.TrimPrefix(root.name, unescapePath(info.Package)+".")
	dir := e.sourceDir(unescapePath(info.Package))
	if dir == "" || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isIdentifier(r) }) {
		return site{}
	}
	return findVariable(dir, name)
}

func isIdentifier(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// sourceDir returns the folder with a package's sources, "" if it is not known.
func (e *environment) sourceDir(pkg string) string {
	if pkg == e.packagePath || pkg == e.packagePath+"_test" {
		return e.dir
	}
	if up, ok := below(e.modulePath, e.packagePath); ok && e.dir != "" {
		root := filepath.Clean(strings.TrimSuffix(filepath.ToSlash(e.dir), up))
		if sub, ok := below(e.modulePath, strings.TrimSuffix(pkg, "_test")); ok {
			return filepath.Join(root, filepath.FromSlash(sub))
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if sub, ok := below(m.Path, pkg); ok {
				return filepath.Join(e.moduleDir(m), filepath.FromSlash(sub))
			}
		}
	}
	// The go command sets GOROOT for tests (since go1.19).
	goroot := os.Getenv("GOROOT")
	if first, _, _ := strings.Cut(pkg, "/"); !strings.Contains(first, ".") && goroot != "" {
		return filepath.Join(goroot, "src", filepath.FromSlash(pkg))
	}
	return ""
}

// below returns what follows a module's path in a package's, with its slash.
func below(module, pkg string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(pkg, module)
	return rest, ok && module != "" && (rest == "" || rest[0] == '/')
}

// moduleDir returns where the go command keeps a module.
func (e *environment) moduleDir(m *debug.Module) string {
	if m.Replace != nil {
		m = m.Replace
	}
	if strings.HasPrefix(m.Path, "./") || strings.HasPrefix(m.Path, "../") || filepath.IsAbs(m.Path) {
		if filepath.IsAbs(m.Path) {
			return m.Path
		}
		up, _ := below(e.modulePath, e.packagePath)
		return filepath.Join(strings.TrimSuffix(filepath.ToSlash(e.dir), up), m.Path)
	}
	cache := os.Getenv("GOMODCACHE")
	if cache == "" {
		gopath, _, _ := strings.Cut(os.Getenv("GOPATH"), string(filepath.ListSeparator))
		if gopath == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return ""
			}
			gopath = filepath.Join(home, "go")
		}
		cache = filepath.Join(gopath, "pkg", "mod")
	}
	return filepath.Join(cache, filepath.FromSlash(escapeCase(m.Path))+"@"+escapeCase(m.Version))
}

// escapeCase writes upper case as the module cache does: "!a" for "A".
func escapeCase(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('!')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// findVariable looks for the one declaration of a package variable in a folder. Several, as for several
// systems, are none.
func findVariable(dir, name string) site {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return site{}
	}
	var found site
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || !entry.Type().IsRegular() {
			continue
		}
		if info, err := entry.Info(); err != nil || info.Size() > maxSourceSize {
			continue
		}
		file := filepath.Join(dir, entry.Name())
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if line := declarationLine(string(text), name); line > 0 {
			if found.file != "" {
				return site{}
			}
			found = site{file, line}
		}
	}
	return found
}

// declarationLine returns the line of a variable's declaration in a formatted source file: gofmt puts
// "var x" at the start of a line, or x after one tab between "var (" and ")".
func declarationLine(text, name string) int {
	inGroup := false
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "var (":
			inGroup = true
		case line == ")":
			inGroup = false
		case inGroup && strings.HasPrefix(line, "\t"):
			if declares(line[1:], name) {
				return n
			}
		default:
			if names, ok := strings.CutPrefix(line, "var "); ok && declares(names, name) {
				return n
			}
		}
	}
	return 0
}

// declares reports whether a declaration's text begins with a list of names that has name in it.
func declares(text, name string) bool {
	for {
		end := strings.IndexFunc(text, func(r rune) bool { return !isIdentifier(r) })
		if end < 0 {
			return text == name
		}
		if text[:end] == name {
			return true
		}
		rest, ok := strings.CutPrefix(text[end:], ", ")
		if end == 0 || !ok {
			return false
		}
		text = rest
	}
}
