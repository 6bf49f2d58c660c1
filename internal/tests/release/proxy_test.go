package release_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	library = "github.com/leakgate/leakgate"
	command = library + "/cmd/leakgate"
	root    = "../../.."
)

// A proxy is a module proxy in a folder, with the modules of the checkout in the version that the
// command requires, and a module cache of its own.
type proxy struct {
	dir, cache string
	version    string
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "cmd", "leakgate", "go.mod"))
	require.NoError(t, err)
	mod, err := modfile.Parse("go.mod", content, nil)
	require.NoError(t, err)
	p := &proxy{dir: t.TempDir(), cache: t.TempDir()}
	for _, r := range mod.Require {
		if r.Mod.Path == library {
			p.version = r.Mod.Version
		}
	}
	require.NotEmpty(t, p.version)
	p.serve(t, library, p.version, root)
	p.serve(t, command, p.version, filepath.Join(root, "cmd", "leakgate"))
	return p
}

// serve adds a version of a module, from a folder with its files.
func (p *proxy) serve(t *testing.T, path, version, dir string) {
	t.Helper()
	escaped, err := module.EscapePath(path)
	require.NoError(t, err)
	folder := filepath.Join(p.dir, filepath.FromSlash(escaped), "@v")
	require.NoError(t, os.MkdirAll(folder, 0o777))
	write := func(name string, content []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o666))
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	write(version+".mod", mod)
	info, err := json.Marshal(map[string]string{"Version": version, "Time": "2026-01-02T03:04:05Z"})
	require.NoError(t, err)
	write(version+".info", info)
	write("list", []byte(version+"\n"))
	var archive bytes.Buffer
	require.NoError(t, zip.CreateFromDir(&archive, module.Version{Path: path, Version: version}, dir))
	write(version+".zip", archive.Bytes())
}

// serveStandIn adds a version of a module that has a single package, with the module's path.
func (p *proxy) serveStandIn(t *testing.T, path, version string) {
	t.Helper()
	dir := t.TempDir()
	name := path[strings.LastIndex(path, "/")+1:]
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+path+"\n\ngo 1.17\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".go"), []byte("package "+name+"\n"), 0o666))
	p.serve(t, path, version, dir)
}

// run runs the go command in a user's environment, except for the proxy. Other modules come from
// the module cache of this machine, or else from its proxy. No checksum database knows our modules,
// so none is used.
func (p *proxy) run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := p.command(t, dir, args...).CombinedOutput()
	require.NoError(t, err, "go %s: %s", strings.Join(args, " "), out)
	return string(out)
}

func (p *proxy) command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PWD="+dir, "GOWORK=off", "GOSUMDB=off", "GOFLAGS=-mod=mod -modcacherw -trimpath",
		"GOMODCACHE="+p.cache, "GOBIN="+filepath.Join(p.cache, "bin"),
		"GOPROXY=file://"+p.dir+",file://"+goEnv(t, "GOMODCACHE")+"/cache/download,"+goEnv(t, "GOPROXY"))
	return cmd
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// writeFiles writes a module.
func writeFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	return dir
}
