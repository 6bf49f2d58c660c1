package revision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A repository has two commits: app/a.txt is "old" in the first, which has the tag v1 and the
// branch early, and "new" in the second.
type repository struct {
	t        *testing.T
	dir      string
	old, new string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
	} {
		t.Setenv(name, value)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as git prints it
	require.NoError(t, err)
	r := &repository{t: t, dir: dir}
	r.git("init", "--quiet", "--initial-branch=main")
	r.write("app/a.txt", "old")
	r.old = r.commit()
	r.git("tag", "v1")
	r.git("branch", "early")
	r.write("app/a.txt", "new")
	r.new = r.commit()
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	out, err := git(r.dir, args...)
	require.NoError(r.t, err)
	return out
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, filepath.FromSlash(name))
	require.NoError(r.t, os.MkdirAll(filepath.Dir(file), 0o777))
	require.NoError(r.t, os.WriteFile(file, []byte(text), 0o666))
}

func (r *repository) commit() string {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--message", "x")
	return r.git("rev-parse", "HEAD")
}

func (r *repository) find(name string) *Revision {
	r.t.Helper()
	found, err := Find(filepath.Join(r.dir, "app"), name)
	require.NoError(r.t, err)
	return found
}

func TestFind(t *testing.T) {
	r := newRepository(t)
	for name, commit := range map[string]string{"HEAD": r.new, "HEAD~1": r.old, "v1": r.old, "early": r.old, "main": r.new, r.old: r.old, r.old[:8]: r.old} {
		assert.Equal(t, commit, r.find(name).Commit, name)
	}
	assert.Equal(t, "v1 ("+r.old[:12]+")", r.find("v1").String())
	assert.Equal(t, r.old[:12], r.find(r.old[:8]).String(), "a hash is not said twice")
}

// TestFindInHook sets the variables that git sets for a hook of another repository.
func TestFindInHook(t *testing.T) {
	r := newRepository(t)
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} {
		t.Setenv(name, filepath.Join(t.TempDir(), "elsewhere"))
	}
	assert.Equal(t, r.old, r.find("v1").Commit)
}

func TestFindFails(t *testing.T) {
	r := newRepository(t)
	r.git("remote", "add", "origin", filepath.Join(r.dir, "nowhere"))
	for name, want := range map[string]string{
		"none":           "there is no revision none here; git branch -a lists the branches that are",
		"upstream/main":  "there is no revision upstream/main here; git branch -a lists the branches that are",
		"origin/feature": "there is no revision origin/feature here; fetch it: git fetch --depth=1 origin +refs/heads/feature:refs/remotes/origin/feature",
		"origin/a/b":     "there is no revision origin/a/b here; fetch it: git fetch --depth=1 origin +refs/heads/a/b:refs/remotes/origin/a/b",
		"--all":          `"--all" is no revision`,
		// a file
		"HEAD:app/a.txt": "there is no revision HEAD:app/a.txt here; git branch -a lists the branches that are",
	} {
		_, err := Find(r.dir, name)
		assert.EqualError(t, err, want, name)
	}
	bare := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(bare))
	_, err := Find(bare, "HEAD")
	assert.ErrorContains(t, err, "a revision needs a git repository with the module in it: git rev-parse: ")
	t.Setenv("PATH", bare)
	_, err = Find(r.dir, "HEAD")
	assert.ErrorContains(t, err, "no git in PATH")
}

// requireClean fails if the user's working tree, index or list of worktrees changed.
func (r *repository) requireClean(status string) {
	r.t.Helper()
	require.Equal(r.t, status, r.git("status", "--porcelain"))
	require.Len(r.t, strings.Split(r.git("worktree", "list", "--porcelain"), "\n\n"), 1, "worktrees")
}

func TestCheckout(t *testing.T) {
	r := newRepository(t)
	r.write("app/a.txt", "edited") // a change that the user has not committed
	r.write("staged.txt", "x")
	r.git("add", "staged.txt")
	status := r.git("status", "--porcelain")
	place := filepath.Join(t.TempDir(), "cache", "tree")
	read := func(w *Worktree) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(w.Dir, "a.txt")) // Dir corresponds to app
		require.NoError(t, err)
		return string(data)
	}

	w, err := r.find("v1").Checkout(place)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(place, "app"), w.Dir)
	assert.Equal(t, "old", read(w))
	require.NoError(t, w.Close())
	require.NoDirExists(t, place)
	r.requireClean(status)

	// A killed run has left a worktree at the path, first one that git knows, then one that git
	// does not know.
	_, err = r.find("v1").Checkout(place)
	require.NoError(t, err)
	w, err = r.find("main").Checkout(place)
	require.NoError(t, err)
	assert.Equal(t, "new", read(w))
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir, ".git", "worktrees")))
	w, err = r.find("early").Checkout(place)
	require.NoError(t, err)
	assert.Equal(t, "old", read(w))
	require.NoError(t, os.RemoveAll(place)) // somebody cleans the cache
	require.NoError(t, w.Close())
	r.requireClean(status)
}

func TestPackages(t *testing.T) {
	r := newRepository(t)
	r.write("app/go.mod", "module example.com/app\n\ngo 1.24\n")
	r.write("app/old/old_test.go", "package old\n")
	r.commit()
	r.git("rm", "-r", "--quiet", "app/old")
	r.write("app/new/new_test.go", "package new\n")
	r.commit()
	w, err := r.find("main~1").Checkout(filepath.Join(t.TempDir(), "tree"))
	require.NoError(t, err)
	defer func() { assert.NoError(t, w.Close()) }()
	packages := func(patterns ...string) (paths []string, err error) {
		found, err := w.Packages(os.Environ(), nil, patterns)
		for _, p := range found {
			paths = append(paths, p.ImportPath)
		}
		return paths, err
	}
	for _, patterns := range [][]string{{"./..."}, {"./old", "./new", "./new/..."}, {"example.com/app/old"}} {
		paths, err := packages(patterns...)
		require.NoError(t, err)
		assert.Equal(t, []string{"example.com/app/old"}, paths, patterns)
	}
	paths, err := packages("./new")
	require.NoError(t, err)
	assert.Empty(t, paths)
	_, err = packages("example.com/app/new")
	assert.ErrorContains(t, err, "its packages do not load:\n")
}

func TestCheckoutFails(t *testing.T) {
	r := newRepository(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	_, err := r.find("v1").Checkout(filepath.Join(file, "below"))
	assert.Error(t, err)
	gone := *r.find("v1")
	gone.Commit = strings.Repeat("0", len(gone.Commit))
	_, err = gone.Checkout(filepath.Join(t.TempDir(), "tree"))
	assert.ErrorContains(t, err, "checking out v1 (000000000000): git worktree: ")
	r.requireClean("")
}
