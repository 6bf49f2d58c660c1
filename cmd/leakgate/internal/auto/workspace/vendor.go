package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// vendor makes a vendor folder for the workspace in work from that of the user: links to its
// entries, and a list that says that it belongs to a workspace.
//
// In both lists, a folder that replaces a module is relative to the parent of the vendor folder,
// and the go command compares the list with the modules (go1.26 cmd/go/internal/modload/vendor.go,
// checkVendorConsistency). absolute has the modules that the workspace file itself replaces.
func vendor(work, users string, absolute map[string]bool) error {
	dir := filepath.Join(work, "vendor")
	entries, err := os.ReadDir(users)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == listName {
			continue
		}
		if err := os.Symlink(filepath.Join(users, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("the vendored packages: %w", err)
		}
	}
	list, err := os.ReadFile(filepath.Join(users, listName))
	if err != nil {
		return err
	}
	text := relocateModulesTxt(string(list), filepath.Dir(users), work, absolute)
	return os.WriteFile(filepath.Join(dir, listName), []byte(text), 0o666)
}

const listName = "modules.txt"

// relocateModulesTxt converts a modules.txt that was made in folder from for a workspace in folder
// to.
func relocateModulesTxt(list, from, to string, absolute map[string]bool) string {
	var b strings.Builder
	const head = "## workspace\n"
	b.WriteString(head)
	for line := range strings.Lines(strings.TrimPrefix(list, head)) {
		before, folder, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " => ")
		module, isModule := strings.CutPrefix(before, "# ")
		if !ok || !isModule || !isFolder(folder) {
			b.WriteString(line)
			continue
		}
		module, _, _ = strings.Cut(module, " ")
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

// isFolder reports whether the right side of a replacement is a folder, and no module.
func isFolder(path string) bool {
	return path == "." || path == ".." || strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") || filepath.IsAbs(path)
}
