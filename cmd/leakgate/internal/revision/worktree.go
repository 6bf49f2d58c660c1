// Package revision checks out another revision of the repository that the user works in, and keeps
// what was measured there.
package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// A Revision is a commit of a repository.
type Revision struct {
	Name   string // as the user gave it: "origin/main"
	Commit string // its hash
	top    string // the repository's working tree
	prefix string // path from top to the folder given to Find
}

// String returns the name and the short hash.
func (r *Revision) String() string {
	if strings.HasPrefix(r.Commit, r.Name) {
		return r.Commit[:12]
	}
	return r.Name + " (" + r.Commit[:12] + ")"
}

// Find finds the commit that name stands for in the repository of dir ("" is the current folder).
func Find(dir, name string) (*Revision, error) {
	top, err := git(dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("a revision needs a git repository with the module in it: %w", err)
	}
	prefix, err := git(dir, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(name, "-") {
		return nil, fmt.Errorf("%q is no revision", name)
	}
	commit, err := git(dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil || commit == "" {
		return nil, fmt.Errorf("there is no revision %s here%s", name, fetchAdvice(dir, name))
	}
	return &Revision{Name: name, Commit: commit, top: filepath.FromSlash(top), prefix: filepath.FromSlash(prefix)}, nil
}

// branchAdvice is the advice for a name that is no branch of a remote.
const branchAdvice = "; git branch -a lists the branches that are"

// fetchAdvice says how to get a revision that is not there: CI systems fetch one commit only.
func fetchAdvice(dir, name string) string {
	remote, branch, ok := strings.Cut(name, "/")
	if !ok {
		return branchAdvice
	}
	remotes, err := git(dir, "remote")
	if err != nil || !strings.Contains("\n"+remotes+"\n", "\n"+remote+"\n") {
		return branchAdvice
	}
	return fmt.Sprintf("; fetch it: git fetch --depth=1 %s +refs/heads/%s:refs/remotes/%s", remote, branch, name)
}

// A Worktree is a checkout of a revision in a folder of its own.
type Worktree struct {
	Dir      string // the folder in the worktree that corresponds to the one given to Find
	top      string
	revision *Revision
}

// Checkout makes a worktree at path, which must belong to leakgate: what is there is removed. The
// user's working tree and index are not touched. Close removes it.
func (r *Revision) Checkout(path string) (*Worktree, error) {
	if err := r.remove(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	if _, err := git(r.top, "worktree", "add", "--quiet", "--force", "--detach", path, r.Commit); err != nil {
		return nil, fmt.Errorf("checking out %s: %w", r, err)
	}
	w := &Worktree{Dir: filepath.Join(path, r.prefix), top: path, revision: r}
	return w, nil
}

// Packages returns the packages with tests that match patterns in the worktree. A pattern of a
// folder that is not there matches none.
func (w *Worktree) Packages(env, buildFlags, patterns []string) ([]gotest.Package, error) {
	patterns = slices.DeleteFunc(slices.Clone(patterns), func(p string) bool {
		top, _, _ := strings.Cut(p, "...")
		_, err := os.Stat(filepath.Join(w.Dir, filepath.FromSlash(top)))
		return build.IsLocalImport(p) && err != nil
	})
	if _, err := os.Stat(w.Dir); err != nil || len(patterns) == 0 {
		return nil, nil
	}
	found, _, err := gotest.Packages(gotest.Query{Dir: w.Dir, Env: env, BuildFlags: buildFlags}, patterns)
	if err != nil {
		return nil, fmt.Errorf("its packages do not load:\n%w", err)
	}
	return found, nil
}

// Close removes the worktree.
func (w *Worktree) Close() error { return w.revision.remove(w.top) }

func (r *Revision) remove(path string) error {
	if _, err := os.Lstat(path); err == nil {
		// Of a worktree that git has forgotten only the folder is left.
		if _, err := git(r.top, "worktree", "remove", "--force", "--force", path); err != nil {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	_, err := git(r.top, "worktree", "prune")
	return err
}

// gitTime bounds a git command; a checkout of a large repository is the longest.
const gitTime = 10 * time.Minute

// git runs git in dir and returns its output. It drops the variables of the user's environment that
// tie git to another repository, which are set if a git hook runs leakgate.
func git(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_DIR=") && !strings.HasPrefix(v, "GIT_WORK_TREE=") && !strings.HasPrefix(v, "GIT_INDEX_FILE=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("no git in PATH")
	case err != nil && stderr.Len() > 0:
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(stderr.String()))
	case err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}
