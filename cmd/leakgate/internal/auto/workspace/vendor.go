package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// vendor makes a vendor folder for the workspace, of the user's: links to what is in it, and a list
// that says that it is a workspace's.
func vendor(dir, users string) error {
	entries, err := os.ReadDir(users)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "modules.txt" {
			continue
		}
		if err := os.Symlink(filepath.Join(users, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("the vendored packages: %w", err)
		}
	}
	list, err := os.ReadFile(filepath.Join(users, "modules.txt"))
	if err != nil {
		return err
	}
	const head = "## workspace\n"
	text := string(list)
	if !strings.HasPrefix(text, head) {
		text = head + text
	}
	return os.WriteFile(filepath.Join(dir, "modules.txt"), []byte(text), 0o666)
}
