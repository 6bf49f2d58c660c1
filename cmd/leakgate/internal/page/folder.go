package page

import (
	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
)

// WriteInto writes the page about a run whose module is in a folder.
func WriteInto(dir *artifacts.Dir, run *outcome.Run, folder string, env []string) error {
	repository := OpenRepository(folder, func(name string) string { return cli.Lookup(env, name) })
	defer repository.Close()
	b := Builder{Run: run, Dir: artifacts.Folder(dir.Path), Repository: repository}
	return dir.WritePage(b.Build().Write)
}
