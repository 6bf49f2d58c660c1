package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// TestName is the test that repeats the others, in every binary.
const TestName = "TestZZLeakgateAuto"

// Names of the generated files. No folder has them: an overlay shows them to the go command.
const (
	inFile     = "zz_leakgate_auto_test.go"
	besideFile = "zz_leakgate_auto_x_test.go"
)

// A BuildError is what the go command printed.
type BuildError struct{ Output string }

func (e *BuildError) Error() string { return e.Output }

// Build makes a test binary of a package, in dir, and returns its file. args are the user's build
// flags, for "go test". The error is a *BuildError if the compiler or the go command objects.
//
// If it does not build with what Instrument added, it builds without, and uncounted says why.
func (w *Workspace) Build(ctx context.Context, p *source.Package, dir string, args []string) (binary, uncounted string, err error) {
	binary, err = w.build(ctx, p, dir, args, w.instrumented)
	if failed, ok := errors.AsType[*BuildError](err); ok && len(w.instrumented) > 0 {
		if binary, err = w.build(ctx, p, dir, args, nil); err == nil {
			uncounted = failed.Output
		}
	}
	return binary, uncounted, err
}

// replace writes a file that stands for one of the user's in builds.
func (w *Workspace) replace(dir, file string, text []byte) error {
	name := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(file)))[:40]+".go")
	w.instrumented[file] = name
	return os.WriteFile(name, text, 0o666)
}

func (w *Workspace) build(ctx context.Context, p *source.Package, dir string, args []string, overlay map[string]string) (string, error) {
	args, overlay, err := w.flags(args, overlay)
	if err != nil {
		return "", err
	}
	add := func(name, text string) error {
		file := filepath.Join(dir, name)
		overlay[filepath.Join(p.Dir, name)] = file
		return os.WriteFile(file, []byte(text), 0o666)
	}
	in := len(p.TestGoFiles) > 0
	if in {
		if err := add(inFile, generate(p.In, true)); err != nil {
			return "", err
		}
	}
	if len(p.XTestGoFiles) > 0 {
		if err := add(besideFile, generate(p.Beside, !in)); err != nil {
			return "", err
		}
	}
	if len(p.Benchmarks()) > 0 {
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return "", err
			}
			ticking, err := source.Loops(name, text, repeatPath)
			if err != nil {
				return "", &BuildError{err.Error()}
			}
			if ticking == nil {
				continue
			}
			if err := add(name, string(ticking)); err != nil {
				return "", err
			}
		}
	}
	list, err := writeOverlay(dir, overlay)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "auto.test")
	// "-c" keeps the debug information, whatever the package is.
	all := append([]string{"test", "-c", "-vet=off", list, "-o", binary}, args...)
	env := append(w.env[:len(w.env):len(w.env)], "PWD="+p.Dir)
	if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "GOTMPDIR=") }) { // what a kill leaves there goes with the workspace
		env = append(env, "GOTMPDIR="+dir, "TMPDIR="+dir, "TMP="+dir)
	}
	out, err := gotest.Output(ctx, p.Dir, env, "go", append(all, p.ImportPath)...)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && len(out) > 0:
		return "", &BuildError{strings.ReplaceAll(strings.TrimSpace(string(out)), w.Dir, "")}
	case err != nil:
		return "", fmt.Errorf("go test -c: %w", err)
	}
	return binary, nil
}

// generate returns the file that registers functions of one package. Its names do not clash with
// those of tests.
func generate(f source.Functions, declaresTest bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n\tleakgatetesting \"testing\"\n\n\tleakgaterepeat %q\n\tleakgateended %q\n", f.Name, repeatPath, endedPath)
	b.WriteString(")\n\nfunc init() {\n")
	b.WriteString("\tleakgaterepeat.Lifetimes(leakgateended.Begin, leakgateended.Each)\n")
	list := func(call, typ, field string, names []string) {
		for _, name := range names {
			fmt.Fprintf(&b, "\tleakgaterepeat.%s(leakgatetesting.%s{Name: %q, %s: %s})\n", call, typ, name, field, name)
		}
	}
	list("Tests", "InternalTest", "F", f.Tests)
	list("Examples", "InternalExample", "F", f.Examples)
	list("Benchmarks", "InternalBenchmark", "F", f.Benchmarks)
	list("Fuzz", "InternalFuzzTarget", "Fn", f.Fuzz)
	b.WriteString("}\n\n")
	if declaresTest {
		fmt.Fprintf(&b, "func %s(t *leakgatetesting.T) { leakgaterepeat.Run(t) }\n", TestName)
	} else {
		b.WriteString("var _ leakgatetesting.T\n") // both imports are used, even if no function is registered
		b.WriteString("var _ = leakgaterepeat.Run\n")
	}
	return b.String()
}
