package workspace

import (
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"strings"
)

// vendor makes a vendor folder for the workspace in work from that of the user: links to its
// entries, and a list that says that it belongs to a workspace. leakgate is left out, since the
// workspace has it as a module of its own, which no other may replace.
//
// In both lists, a folder that replaces a module is relative to the parent of the vendor folder,
// and the go command compares the list with the modules (go1.26 cmd/go/internal/modload/vendor.go,
// checkVendorConsistency). absolute has the modules that the workspace file itself replaces.
func vendor(work, users string, absolute map[string]bool) error {
	dir := filepath.Join(work, "vendor")
	if err := link(users, dir, strings.Split(modulePath, "/")); err != nil {
		return fmt.Errorf("the vendored packages: %w", err)
	}
	list, err := os.ReadFile(filepath.Join(users, listName))
	if err != nil {
		return err
	}
	text := relocateModulesTxt(string(list), filepath.Dir(users), work, absolute)
	return os.WriteFile(filepath.Join(dir, listName), []byte(text), 0o666)
}

// link makes a folder with links to the entries of another, except the list of modules and what is
// at the path without.
func link(from, to string, without []string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		switch {
		case e.Name() == listName:
		case e.Name() != without[0]:
			err = os.Symlink(source, target)
		case len(without) > 1:
			err = link(source, target, without[1:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const listName = "modules.txt"

// relocateModulesTxt converts a modules.txt that was made in folder from for a workspace in folder
// to. leakgate is not replaced there, and has no packages, but is required as before.
func relocateModulesTxt(list, from, to string, absolute map[string]bool) string {
	var b strings.Builder
	const head = "## workspace\n"
	b.WriteString(head)
	inLeakgate := false
	for line := range strings.Lines(strings.TrimPrefix(list, head)) {
		before, folder, replaced := strings.Cut(strings.TrimSuffix(line, "\n"), " => ")
		module, isModule := strings.CutPrefix(before, "# ")
		module, version, _ := strings.Cut(module, " ")
		if isModule {
			inLeakgate = module == modulePath
		}
		switch {
		case inLeakgate && isModule && version != "":
			b.WriteString(before + "\n")
			continue
		case inLeakgate && !strings.HasPrefix(line, "## "):
			continue
		case !replaced || !isModule || !build.IsLocalImport(folder) && !filepath.IsAbs(folder): // a module
			b.WriteString(line)
			continue
		}
		full := filepath.FromSlash(folder)
		if !filepath.IsAbs(full) {
			full = filepath.Join(from, full)
		}
		if rel, err := filepath.Rel(to, full); err == nil && !absolute[module] && !filepath.IsAbs(folder) {
			full = rel
			if !strings.HasPrefix(rel, "..") {
				full = "./" + rel
			}
		}
		fmt.Fprintf(&b, "%s => %s\n", before, filepath.ToSlash(full))
	}
	return b.String()
}
