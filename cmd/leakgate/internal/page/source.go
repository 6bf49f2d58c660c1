package page

import (
	"bufio"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// A Repository is where source files are.
type Repository struct {
	root *os.Root
	link string // before a file's name: "https://github.com/owner/name/blob/REVISION/"
}

// A Place is a line of source.
type Place struct {
	File  string   `json:"file"`
	Line  int      `json:"line"`
	URL   string   `json:"url,omitempty"`
	From  int      `json:"from,omitempty"` // number of the first of Lines
	Lines []string `json:"lines,omitempty"`
}

const (
	around    = 3   // lines shown before and after a place
	maxColumn = 200 // bytes of a line
)

// OpenRepository opens the repository whose root lies at dir or above it; without one, dir. env
// reads the environment, in which GitHub Actions names the repository and the revision.
// OpenRepository returns nil if dir cannot be read.
func OpenRepository(dir string, env func(string) string) *Repository {
	top, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	for above := top; ; above = filepath.Dir(above) {
		if _, err := os.Stat(filepath.Join(above, ".git")); err == nil {
			top = above
			break
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil
	}
	r := &Repository{root: root}
	server, name, revision := env("GITHUB_SERVER_URL"), env("GITHUB_REPOSITORY"), env("GITHUB_SHA")
	if name == "" || revision == "" {
		server, name = repositoryOf(git(top, "remote", "get-url", "origin"))
		revision = git(top, "rev-parse", "HEAD")
	}
	if server != "" && name != "" && revision != "" {
		r.link = server + "/" + name + "/blob/" + revision + "/"
	}
	return r
}

// Close closes the repository, which may be nil.
func (r *Repository) Close() {
	if r != nil {
		_ = r.root.Close()
	}
}

// repositoryOf splits the URL of a remote, if it is GitHub's: "git@github.com:owner/name.git".
func repositoryOf(remote string) (server, name string) {
	const host = "github.com"
	for _, prefix := range []string{"https://" + host + "/", "git@" + host + ":", "ssh://git@" + host + "/"} {
		if rest, ok := strings.CutPrefix(remote, prefix); ok {
			name = strings.TrimSuffix(strings.Trim(rest, "/"), ".git")
			if strings.Count(name, "/") == 1 && !strings.ContainsAny(name, " ?#%<>\"'\\") {
				return "https://" + host, name
			}
		}
	}
	return "", ""
}

func git(dir string, args ...string) string {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// place returns a line of a file that a record names relative to a package's folder. It adds the
// source around the line if the file is in the repository. It returns nil if file is "".
func (r *Repository) place(dir, file string, line int) *Place {
	if file == "" {
		return nil
	}
	p := &Place{File: file, Line: line}
	if r == nil || path.IsAbs(file) || filepath.IsAbs(file) {
		p.File = baseName(file)
		return p
	}
	file = path.Join(dir, file)
	f, err := r.root.Open(filepath.FromSlash(file))
	if err != nil {
		return p
	}
	defer func() { _ = f.Close() }()
	p.File = file
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return p
	}
	if r.link != "" {
		p.URL = r.link + escapePath(file) + "#L" + strconv.Itoa(line)
	}
	p.From = max(1, line-around)
	s := bufio.NewScanner(f)
	for n := 1; n <= line+around && s.Scan(); n++ {
		if n >= p.From {
			text := s.Text()
			p.Lines = append(p.Lines, strings.ToValidUTF8(text[:min(len(text), maxColumn)], ""))
		}
	}
	return p
}
