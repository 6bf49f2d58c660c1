package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/workspace"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/doctor/program"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// A laboratory is a folder with the test, as a module of its own that requires leakgate.
type laboratory struct {
	folder string
	env    []string
}

const (
	goMod = `module selftest.example/program

go 1.24.0

require github.com/leakgate/leakgate v0.0.0

replace github.com/leakgate/leakgate => %q
`
	binaryName = "program.test.exe" // .exe is what Windows needs, and other systems do not mind
	resultName = "result.json"
)

// newLaboratory writes the module. Builds in it use the toolchain, if the go command can select it,
// and ignore the user's flags, which are for other modules.
func newLaboratory(toolchain string, env []string) (*laboratory, error) {
	library, err := workspace.Library()
	if err != nil {
		return nil, fmt.Errorf("writing the sources of leakcheck: %w", err)
	}
	folder, err := os.MkdirTemp("", "leakgate-selftest-")
	if err != nil {
		return nil, err
	}
	l := &laboratory{folder: folder}
	l.env = envvar.Without(env, envvar.Artifacts, envvar.ArtifactsAll, envvar.Freeze, envvar.Full, envvar.Goldens, envvar.Measure, envvar.Repeat, envvar.Update)
	l.env = append(l.env, "GOWORK=off", "GOFLAGS=", envvar.Strict.Set("1"))
	if gotest.IsRelease(toolchain) {
		l.env = append(l.env, "GOTOOLCHAIN="+toolchain)
	}
	err = os.WriteFile(filepath.Join(folder, "go.mod"), fmt.Appendf(nil, goMod, library), 0o666)
	if err == nil {
		err = os.CopyFS(folder, program.Sources)
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *laboratory) close() error { return os.RemoveAll(l.folder) }

// try runs the test in one way.
func (l *laboratory) try(ctx context.Context, way Way) *Trial {
	start := time.Now()
	t := &Trial{Way: way}
	out, err := l.run(ctx, way)
	t.Took = time.Since(start)
	data, readErr := os.ReadFile(filepath.Join(l.folder, resultName))
	if readErr == nil {
		t.Result = new(program.Result)
		if readErr = json.Unmarshal(data, t.Result); readErr == nil {
			return t
		}
	}
	t.Result = nil
	t.Problem = "the test left no result"
	if err != nil {
		t.Problem = err.Error()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Problem = fmt.Sprintf("it did not end within %v", t.Took.Round(time.Second))
	}
	if lines := textfmt.LastLines(string(bytes.TrimSpace(out)), 20); lines != "" {
		t.Problem += "\n" + lines
	}
	return t
}

// run runs the test, and returns its output. The error is that of the go command or of the test.
func (l *laboratory) run(ctx context.Context, way Way) ([]byte, error) {
	result := filepath.Join(l.folder, resultName)
	if err := os.Remove(result); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	arguments := []string{"-test.run=^TestSelf$", "-result=" + result}
	if way == Plain {
		return l.output(ctx, l.env, "go", append([]string{"test", "-count=1", ".", "-args"}, arguments...)...)
	}
	binary := filepath.Join(l.folder, binaryName)
	if _, err := os.Stat(binary); err != nil {
		// go test -c keeps the debug information.
		if out, err := l.output(ctx, l.env, "go", "test", "-c", "-o", binary, "."); err != nil {
			return out, err
		}
	}
	return l.output(ctx, append(slices.Clip(l.env), envvar.Freeze.Set(way.freeze())), binary, arguments...)
}

// output runs a command in the folder, and ends all of its processes if ctx does.
func (l *laboratory) output(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	out, err := gotest.Output(ctx, l.folder, env, name, args...)
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err)
	}
	return out, err
}
