package twin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// ErrNoInputs is the error if the linker's inputs of the running test are not at hand, or if Relink
// does not know how to link them.
var ErrNoInputs = errors.New("what the test was linked from is not at hand")

// Relink links the running test again from the inputs that go test linked it from. As long as go
// test runs, the list of these inputs lies beside the executable: the compiled packages and the
// build information. So no package is loaded or looked up, and a change of the source since then
// does no harm. Debug information is not compressed, since it is read once. If anything is unusual,
// the error is ErrNoInputs or the linker's: Build knows more ways to build a test.
func Relink(ctx context.Context, req Request) (*Twin, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, ErrNoInputs
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if p, ok := findGoTest(); ok && p.original != "" {
		exe = p.original
	}
	main, err := mainPackage(exe)
	if err != nil {
		return nil, err
	}
	env := initialEnviron()
	flags, err := linkFlags(info, lookup(env, "CC"))
	if err != nil {
		return nil, err
	}
	linker, goroot := findLinker(env)
	if linker == "" {
		return nil, ErrNoInputs
	}
	if isTrimmed(info) {
		goroot = "" // the linker records GOROOT in the program
	}
	env = append(append(env, settingsEnv(info)...), "GOROOT="+goroot)
	return newTwin(ctx, req, func(ctx context.Context, output string) error {
		start := time.Now()
		args := append([]string{"-o", output, "-importcfg", inputsOf(exe), "-buildid=" + req.BuildID, "-compressdwarf=false"}, flags...)
		out, err := run(ctx, filepath.Dir(output), temporaryIn(env, filepath.Dir(output)), linker, append(args, main)...)
		switch {
		case ctx.Err() != nil:
			return givenUp(ctx, start)
		case err != nil:
			return fmt.Errorf("%s: %w\n%s", linker, err, firstLines(out, 12))
		}
		return nil
	})
}

// inputsOf returns the path of the list of packages that an executable was linked from (go1.26 and
// 1.27 cmd/go/internal/work/exec.go, Builder.link).
func inputsOf(exe string) string { return filepath.Join(filepath.Dir(exe), "importcfg.link") }

// mainPackage returns the file of the compiled main package, which comes first in the list of
// packages. The list is trusted like the executable if the same user wrote it and no other user can
// write to it.
func mainPackage(exe string) (string, error) {
	f, err := os.OpenFile(inputsOf(exe), os.O_RDONLY|noWait, 0)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoInputs, err)
	}
	defer f.Close()
	program, err := os.Stat(exe)
	if err != nil {
		return "", err
	}
	list, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !list.Mode().IsRegular() || !asTrusted(list, program) {
		return "", fmt.Errorf("%w: %s may be another user's", ErrNoInputs, f.Name())
	}
	const longest = 64 << 10
	line, err := bufio.NewReader(io.LimitReader(f, longest)).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoInputs, err)
	}
	pkg, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
	if !ok || !strings.HasPrefix(pkg, "packagefile ") || !strings.HasSuffix(pkg, ".test") {
		return "", ErrNoInputs
	}
	return file, nil
}

// linkFlags are the flags that the go command gave the linker, except those that omit debug
// information (go1.26 and 1.27 cmd/go/internal/work/gc.go, gcToolchain.ld).
func linkFlags(info *debug.BuildInfo, compiler string) ([]string, error) {
	flags := []string{"-X", "testing.testBinary=1"}
	if compiler != "" {
		flags = append(flags, "-extld="+compiler)
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "-buildmode":
			flags = append(flags, "-buildmode="+s.Value)
		case "-race", "-msan", "-asan":
			flags = append(flags, s.Key)
		case "DefaultGODEBUG":
			flags = append(flags, "-X=runtime.godebugDefault="+s.Value)
		case "-ldflags", "GOFIPS140":
			return nil, fmt.Errorf("%w: it was built with %s", ErrNoInputs, s.Key)
		}
	}
	return flags, nil
}

func isTrimmed(info *debug.BuildInfo) bool {
	for _, s := range info.Settings {
		if s.Key == "-trimpath" {
			return s.Value == "true"
		}
	}
	return false
}

// findLinker returns the linker of the Go version that built the test, and its GOROOT; "" if none
// is found. A linker refuses packages that another version compiled.
func findLinker(env []string) (linker, root string) {
	//lint:ignore SA1019 the default GOROOT is one of several places to look at
	roots := []string{lookup(env, "GOROOT"), runtime.GOROOT()}
	if tool, err := lookPath(lookup(env, "PATH")); err == nil {
		roots = append(roots, filepath.Dir(filepath.Dir(tool)))
	}
	if p, ok := findGoTest(); ok {
		roots = append(roots, filepath.Dir(filepath.Dir(p.exe)))
	}
	for _, root := range roots {
		version, err := os.ReadFile(filepath.Join(root, "VERSION"))
		if first, _, _ := strings.Cut(string(version), "\n"); err != nil || root == "" || first != release(runtime.Version()) {
			continue
		}
		linker := filepath.Join(root, "pkg", "tool", runtime.GOOS+"_"+runtime.GOARCH, "link"+extension)
		if executable(linker) == nil {
			return linker, root
		}
	}
	return "", ""
}
