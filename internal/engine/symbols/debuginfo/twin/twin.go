// Package twin links a running test a second time, with debug information.
//
// Plain go test passes -s -w to the linker, so its binary has no DWARF (go1.26
// cmd/go/internal/load/test.go: OmitDebug). The same compiled packages linked without those flags
// have the same code, data layout and function table, and DWARF. Relink calls the linker as go test
// did; Build has go test -c do it, which loads packages first and takes more processor time, but
// needs only the source.
//
// Neither checks the result. Check compares the two executables, before the caller uses the twin:
// the addresses in the debug information of one must be right for the other.
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

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// DefaultTimeout bounds a twin's link if the context has no deadline.
const DefaultTimeout = 2 * time.Minute

// Request says what to build.
type Request struct {
	// TempDir is the folder for the twin, which is larger than the test binary. If it cannot be
	// written, os.TempDir is used.
	TempDir string
	BuildID string // of the running test
}

// Twin is a built twin.
type Twin struct {
	Path string // of the executable

	dir   string
	claim *os.File // shows other processes that this one is alive and uses dir
}

// Remove deletes the twin. Files of it that are open can still be read. It may be called more than
// once.
func (t *Twin) Remove() {
	_ = t.claim.Close() // Windows removes no folder that is open
	_ = os.RemoveAll(t.dir)
}

// startDir is the folder in which the process was started: under go test the package's folder.
// Tests may change the current folder later.
var startDir, errStartDir = os.Getwd()

// Build links the running test again. It starts the go command with the environment that the
// process was started with, kills it and its children if ctx ends, and returns an *Unavailable if
// there is no twin.
func Build(ctx context.Context, req Request) (*Twin, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, &Unavailable{
			Cause:  "the program has neither debug information nor Go build information",
			Remedy: "link it with debug information: with Bazel by --strip=never, elsewhere without the flags -s and -w",
		}
	}
	if _, ok := testedPackage(info); !ok {
		return nil, &Unavailable{
			Cause:  "the program was linked without debug information, and only tests can be linked again",
			Remedy: "link it without -s and -w",
		}
	}
	inv, err := newInvocation(info)
	if err != nil {
		return nil, err
	}
	if err := inv.findGo(ctx, runtime.Version()); err != nil {
		return nil, err
	}
	return newTwin(ctx, req, inv.link)
}

// newTwin makes the folder of a twin, and has the twin linked there.
func newTwin(ctx context.Context, req Request, link func(ctx context.Context, output string) error) (*Twin, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, DefaultTimeout)
		defer cancel()
	}
	dir, claim, err := tempDir(req.TempDir)
	if err != nil {
		if way := remedy.ForDisk(err, ""); way != "" {
			return nil, &Unavailable{Cause: "there is no room to link a twin with debug information", Remedy: way, Err: err}
		}
		return nil, &Unavailable{
			Cause:  "there is no folder to link a twin with debug information in",
			Remedy: "set LEAKGATE_CACHE or TMPDIR to a writable folder, or " + remedyFlags,
			Err:    err,
		}
	}
	t := &Twin{Path: filepath.Join(dir, "twin.test"), dir: dir, claim: claim}
	if err := link(ctx, t.Path); err != nil {
		t.Remove()
		return nil, err
	}
	return t, nil
}

// tempName is the prefix of the names of twins' folders. By it the folders of killed processes are
// recognized.
const tempName = "leakgate-twin.tmp-"

// tempDir makes a folder for a twin, in the folder wanted or else in os.TempDir, and claims it.
func tempDir(want string) (string, *os.File, error) {
	dir, claim, err := claimedDir(want)
	if err == nil {
		return dir, claim, nil
	}
	dir, claim, err2 := claimedDir(os.TempDir())
	if err2 != nil {
		return "", nil, errors.Join(err, err2)
	}
	return dir, claim, nil
}

// claimedDir makes a folder in parent and claims it. It first removes the folders of twins that
// killed processes left in parent.
func claimedDir(parent string) (string, *os.File, error) {
	wholefile.RemoveUnclaimed(parent, tempName)
	const tries = 10 // another process may remove a folder before it is claimed
	for range tries {
		dir, err := os.MkdirTemp(parent, tempName+"*")
		if err != nil {
			return "", nil, err
		}
		claim, err := os.Open(dir)
		switch {
		case err == nil && wholefile.Claim(claim, dir):
			return dir, claim, nil
		case err == nil:
			_ = claim.Close()
		case !errors.Is(err, os.ErrNotExist):
			return "", nil, err
		}
	}
	return "", nil, fmt.Errorf("%s: folders vanish as soon as they are made", parent)
}

// temporaryIn returns an environment in which the go command and the linker have their temporary
// files in a folder, with which they are removed if this process is killed; unless the user says
// where they are.
func temporaryIn(env []string, dir string) []string {
	if lookup(env, "GOTMPDIR") != "" {
		return env
	}
	return append(env[:len(env):len(env)], "GOTMPDIR="+dir, "TMPDIR="+dir, "TMP="+dir)
}

// link runs go test -c.
func (inv *invocation) link(ctx context.Context, output string) error {
	args := append([]string{"test", "-c", "-vet=off", "-o", output}, inv.flags...)
	args = append(args, inv.packages...)
	start := time.Now()
	inv.env = temporaryIn(inv.env, filepath.Dir(output))
	out, err := inv.run(ctx, args...)
	switch {
	case ctx.Err() != nil:
		return givenUp(ctx, start)
	case err != nil:
		return inv.explain(args, out, err)
	}
	if _, err := os.Stat(output); err != nil {
		return inv.explain(args, out, errors.New("the go command wrote no test binary"))
	}
	return nil
}

// givenUp is the error for a link that took longer than the context allows.
func givenUp(ctx context.Context, start time.Time) error {
	return &Unavailable{
		Cause:  fmt.Sprintf("linking a twin with debug information was given up after %.0fs", time.Since(start).Seconds()),
		Remedy: "allow it more time, or " + remedyFlags,
		Err:    context.Cause(ctx),
	}
}

// explain finds the cause of a failed build in the output of the go command.
func (inv *invocation) explain(args []string, out string, err error) error {
	u := &Unavailable{
		Cause:  fmt.Sprintf("the test has no debug information and could not be linked again (%s %s, in %s)", inv.goTool, strings.Join(args, " "), inv.dir),
		Remedy: remedyFlags,
		Err:    fmt.Errorf("%w\n%s", err, firstLines(out, 12)),
	}
	if way := remedy.ForDisk(err, out); way != "" {
		u.Cause = "there is no room to link a twin with debug information"
		u.Remedy = way
		return u
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
