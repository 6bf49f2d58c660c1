package page_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmePictures opens the page of the run in the README, in both themes, in the size of the
// README's pictures.
func TestReadmePictures(t *testing.T) {
	slow(t)
	demo, err := filepath.Abs(filepath.Join("..", "..", "..", "examples", "sessions", "leaky"))
	require.NoError(t, err)
	dir := filepath.Join(demo, "leakgate-artifacts")
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	out, code := leakgateIn(t, demo, "run", "./...")
	require.Equal(t, 1, code, out)
	for _, theme := range []string{"light", "dark"} {
		p := openPage(t, "file://"+filepath.Join(dir, "leak.html"), 1280, 1000, theme)
		require.Equal(t, 3, eval[int](p, "document.querySelectorAll('.entry').length"))
		require.Contains(t, eval[string](p, "document.body.innerText"), "example.com/shop.sessions")
		p.clean()
		p.view("page-" + theme)
	}
}
