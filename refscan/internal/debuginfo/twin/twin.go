// Package twin links a running test a second time, with debug information.
//
// Plain go test passes -s -w to the linker, so its binary has no DWARF (go1.26 cmd/go/internal/load/test.go: OmitDebug). The same
// package built by go test -c, with the same flags, has the same code, data layout and function table, and DWARF. The compiled packages
// come from the build cache, so it costs one link.
//
// Nothing here trusts the result: the caller compares the two programs before it uses the twin.
package twin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// DefaultTimeout bounds a twin's link if the context has no deadline.
const DefaultTimeout = 2 * time.Minute

// Request says what to build.
type Request struct {
	// TempDir is where the twin goes, as big as the test binary and more. If it cannot be written, os.TempDir is used.
	TempDir string
}

// Twin is a built twin.
type Twin struct {
	Path string // of the executable

	dir string
}

// Remove deletes the twin.
func (t *Twin) Remove() { _ = os.RemoveAll(t.dir) }

// startDir is the folder in which the process began: under go test that of the package. Tests may change it later.
var startDir, errStartDir = os.Getwd()

// Build links the running test again. It starts the go command with the environment that the process was started with, kills
// it and its children if ctx ends, and returns an *Unavailable if there is no twin.
func Build(ctx context.Context, req Request) (*Twin, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, &Unavailable{
			Cause:  "the program has neither debug information nor Go build information",
			Remedy: "build it in module mode and without -ldflags='-s -w'",
		}
	}
	if _, ok := testedPackage(info); !ok {
		return nil, &Unavailable{
			Cause:  "the program was linked without debug information, and only tests can be linked again",
			Remedy: "link it without -s and -w",
		}
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel func()
		ctx, cancel = withTimeout(ctx, DefaultTimeout)
		defer cancel()
	}
	inv, err := newInvocation(info)
	if err != nil {
		return nil, err
	}
	if err := inv.findGo(ctx, runtime.Version()); err != nil {
		return nil, err
	}
	dir, err := tempDir(req.TempDir)
	if err != nil {
		return nil, &Unavailable{
			Cause:  "there is no folder to link a twin with debug information in",
			Remedy: "set LEAKGATE_CACHE or TMPDIR to a writable folder, or " + remedyFlags,
			Err:    err,
		}
	}
	t := &Twin{Path: filepath.Join(dir, "twin.test"), dir: dir}
	if err := inv.link(ctx, t.Path); err != nil {
		t.Remove()
		return nil, err
	}
	return t, nil
}

// withTimeout is context.WithTimeout as far as it is needed here, which adds 3 kB to a stripped program (go1.26.8). That it was
// the time that ended the context says its cause.
func withTimeout(parent context.Context, limit time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

func tempDir(want string) (string, error) {
	const pattern = "twin.tmp-*"
	dir, err := os.MkdirTemp(want, pattern)
	if err != nil {
		var err2 error
		if dir, err2 = os.MkdirTemp("", pattern); err2 != nil {
			return "", errors.Join(err, err2)
		}
	}
	return dir, nil
}

// link runs go test -c.
func (inv *invocation) link(ctx context.Context, output string) error {
	args := append([]string{"test", "-c", "-vet=off", "-o", output}, inv.flags...)
	args = append(args, inv.packages...)
	start := time.Now()
	out, err := inv.run(ctx, args...)
	switch {
	case ctx.Err() != nil:
		return &Unavailable{
			Cause:  fmt.Sprintf("linking a twin with debug information was given up after %.0fs", time.Since(start).Seconds()),
			Remedy: "allow it more time, or " + remedyFlags,
			Err:    context.Cause(ctx),
		}
	case err != nil:
		return inv.explain(args, out, err)
	}
	if _, err := os.Stat(output); err != nil {
		return inv.explain(args, out, errors.New("the go command wrote no test binary"))
	}
	return nil
}

// explain finds the cause of a failed build in what the go command said.
func (inv *invocation) explain(args []string, out string, err error) error {
	u := &Unavailable{
		Cause:  fmt.Sprintf("the test has no debug information and could not be linked again (%s %s, in %s)", inv.goTool, strings.Join(args, " "), inv.dir),
		Remedy: remedyFlags,
		Err:    fmterr.Errorf("%w\n%s", err, firstLines(out, 12)),
	}
	for _, gone := range []string{
		"go.mod file not found", "no required module provides package", "is not in std", "no Go files in", "no such file or directory", "cannot find main module", "no packages to build",
	} {
		if strings.Contains(out, gone) {
			u.Cause = fmt.Sprintf("the test has no debug information, and its source was not found from %s", inv.dir)
			u.Remedy = "run it with go test in its source tree, or build it with go test -c, which keeps debug information"
			break
		}
	}
	return u
}

func firstLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) > n {
		lines = append(lines[:n], fmt.Sprintf("... %d more lines", len(lines)-n))
	}
	return strings.Join(lines, "\n")
}
