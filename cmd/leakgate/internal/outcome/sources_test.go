package outcome

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The places of packages are those that git knows, on whichever path a shell came there.
func TestFindSourcesBehindLinks(t *testing.T) {
	top := t.TempDir()
	repository := filepath.Join(top, "repository")
	for _, dir := range []string{".git", "module/app"} {
		require.NoError(t, os.MkdirAll(filepath.Join(repository, dir), 0o777))
	}
	checkout := filepath.Join(top, "checkout")
	if err := os.Symlink("repository", checkout); err != nil {
		t.Skip(err)
	}
	require.NoError(t, os.Symlink("module", filepath.Join(repository, "link")))
	want := map[string]string{"example.com/app": "module/app"}
	for _, dir := range []string{filepath.Join(repository, "module"), filepath.Join(repository, "link"), filepath.Join(checkout, "module"), filepath.Join(checkout, "link")} {
		require.Equal(t, want, FindSources(dir, map[string]string{"example.com/app": filepath.Join(dir, "app")}).Dirs, dir)
	}
}
