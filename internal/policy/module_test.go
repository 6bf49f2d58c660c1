package policy

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files that are generated and then reviewed")

const modulePath = "github.com/leakgate/leakgate"

// root is the repository's folder, relative to this package.
const root = "../.."

// linked are the public packages that users' test binaries link.
var linked = []string{"golden", "leakcheck", "refscan", "stackprof"}

// A platform is what the go command builds for.
type platform struct{ os, arch string }

var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

func (p platform) String() string { return p.os + "/" + p.arch }

// goLines runs the go command in the repository's root with its workspace, for a platform or, with
// the zero value, for this one, and returns what it prints, line by line.
func goLines(t *testing.T, p platform, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=") // the workspace of the folder
	if p != (platform{}) {
		cmd.Env = append(cmd.Env, "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0")
	}
	return runLines(t, cmd)
}

func runLines(t *testing.T, cmd *exec.Cmd) []string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	return slices.DeleteFunc(strings.Split(string(output), "\n"), func(line string) bool { return line == "" })
}

// linkedFolders returns the folders of all packages that users' test binaries link, internal ones
// included, relative to the root.
func linkedFolders(t *testing.T) []string {
	t.Helper()
	seen := make(map[string]bool)
	for _, p := range platforms {
		args := []string{"list", "-deps", "-f", "{{.ImportPath}}"}
		for _, name := range linked {
			args = append(args, "./"+name)
		}
		for _, path := range goLines(t, p, args...) {
			if folder, ok := strings.CutPrefix(path, modulePath+"/"); ok {
				seen[folder] = true
			}
		}
	}
	var folders []string
	for folder := range seen {
		folders = append(folders, folder)
	}
	slices.Sort(folders)
	return folders
}

// trackedFiles returns what git tracks, or would after "git add", by slash-separated path relative
// to the root.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	files := runLines(t, cmd)
	if len(files) == 0 {
		t.Fatal("git lists no files")
	}
	return slices.DeleteFunc(files, func(file string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(file)))
		return err != nil // deleted, not yet committed
	})
}

// readFile returns a file's content, by slash-separated path relative to the root.
func readFile(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
