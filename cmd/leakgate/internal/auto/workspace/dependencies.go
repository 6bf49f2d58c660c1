package workspace

import (
	"bytes"
	"os/exec"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
)

// Dependencies returns the versions of the modules that the tests of packages are built from,
// without the user's modules; for a replaced module, "=> " and its replacement. Test binaries do
// not record all of them. It runs one "go list". args are build flags. What cannot be listed is
// left out.
func (w *Workspace) Dependencies(dir string, packages []*source.Package, args []string) map[string]string {
	const format = `{{with .Module}}{{if not .Main}}{{.Path}}{{"\t"}}{{with .Replace}}=> {{.Path}} {{.Version}}{{else}}{{.Version}}{{end}}{{end}}{{end}}`
	all := append([]string{"list", "-e", "-deps", "-test", "-f", format}, args...)
	for _, p := range packages {
		all = append(all, p.ImportPath)
	}
	cmd := exec.Command("go", all...)
	cmd.Dir, cmd.Env = dir, w.env
	out, _ := cmd.Output()
	found := make(map[string]string)
	for line := range bytes.Lines(out) {
		if path, version, ok := strings.Cut(strings.TrimSpace(string(line)), "\t"); ok {
			found[path] = version
		}
	}
	return found
}
