package runtests

import (
	gocontext "context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/finding"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/workspace"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/textfmt"
)

func (a *autoRun) begin(p *source.Package) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.send(gotest.Event{Action: "start", Package: p.ImportPath})
}

// skip sends the events of a package without functions to repeat.
func (a *autoRun) skip(p *source.Package) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.without(p.ImportPath, "[no tests to repeat]")
}

// without sends the events of a package of which nothing is repeated, and says why.
func (a *autoRun) without(pkg, why string) {
	a.send(gotest.Event{Action: "start", Package: pkg})
	a.send(gotest.Event{Action: "output", Package: pkg, Output: "?   \t" + pkg + "\t" + why + "\n"})
	a.send(gotest.Event{Action: "skip", Package: pkg})
}

// ended sends the events that go test would have sent about a package.
func (a *autoRun) ended(p *source.Package, found *finding.Package, took time.Duration) error {
	pkg := p.ImportPath
	failed := make(map[string]string)
	for _, f := range found.Failures {
		failed[f.Test] = f.Message
	}
	left := make(map[string]string)
	a.covered += found.Repeated + found.Held
	for _, t := range found.Left {
		left[t.Name] = finding.Reason(t)
		a.uncovered = append(a.uncovered, t)
		a.left = append(a.left, fmt.Sprintf("%s.%s: %s", pkg, t.Name, left[t.Name]))
	}
	names := append(a.functions(p), a.selected(p.Benchmarks())...)
	for _, f := range found.Failures {
		if !slices.Contains(names, f.Test) {
			names = append(names, f.Test) // a group that was not told apart
		}
	}
	for _, name := range names {
		a.send(gotest.Event{Action: "run", Package: pkg, Test: name})
		end := "pass"
		if reason := left[name]; reason != "" {
			end = "skip"
			a.send(gotest.Event{Action: "output", Package: pkg, Test: name, Output: "    " + name + " is not repeated: " + reason + "\n"})
		}
		if message := failed[name]; message != "" {
			end = "fail"
			a.send(gotest.Event{Action: "output", Package: pkg, Test: name, Output: fmt.Sprintf("--- FAIL: %s\n", name)})
			a.send(gotest.Event{Action: "output", Package: pkg, Test: name, Output: textfmt.IndentText(message)})
		}
		a.send(gotest.Event{Action: end, Package: pkg, Test: name})
	}
	repeated := found.Repeated + found.Held
	end, word, result := "pass", "ok  ", fmt.Sprintf("repeated %d of %d", repeated, repeated+len(found.Left))
	if share := covered(repeated, len(found.Left)); share != "" {
		result = share + ": " + result
	}
	a.packages++
	switch {
	case len(failed) > 0:
		end, word = "fail", "FAIL"
		a.failed = true
	case found.Unknown != "":
		end, word, result = "skip", "?   ", "could not tell: "+textfmt.FirstLine(found.Unknown)
		a.undecided = append(a.undecided, pkg)
	case found.Nothing != "":
		end, word, result = "skip", "?   ", "nothing repeated: "+textfmt.FirstLine(found.Nothing)
		a.undecided = append(a.undecided, pkg)
		a.nothing = append(a.nothing, pkg+": "+textfmt.FirstLine(found.Nothing))
	}
	a.send(gotest.Event{Action: "output", Package: pkg, Output: strings.ToUpper(end) + "\n"})
	a.send(gotest.Event{Action: "output", Package: pkg, Output: fmt.Sprintf("%s\t%s\t%.1fs\t%s\n", word, pkg, took.Seconds(), result)})
	a.send(gotest.Event{Action: end, Package: pkg, Elapsed: took.Seconds()})
	return a.err
}

// unbuilt sends the events of a package whose test binary does not build. It is the user's fault if
// go test cannot build it either.
func (a *autoRun) unbuilt(ctx gocontext.Context, p *source.Package, failure error) {
	if ctx.Err() != nil {
		return
	}
	users := true
	if _, ok := errors.AsType[*workspace.BuildError](failure); ok {
		args := append([]string{"test", "-c", "-vet=off", "-o", os.DevNull}, a.build...)
		_, err := gotest.Output(ctx, p.Dir, a.invocation.Env, "go", append(args, p.ImportPath)...)
		users = err != nil
	} else {
		users = false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	pkg := p.ImportPath
	full := noRoom(failure)
	if users && full == "" {
		a.broken(pkg, failure.Error(), "build failed")
		return
	}
	cause, remedy, short := "its tests build, and not with leakcheck beside them: "+failure.Error(), "please report this: https://github.com/leakgate/leakgate/issues", "it does not build with leakcheck"
	if full != "" {
		cause, remedy, short = "there is no room for its test binary: "+full, "make room where TMPDIR and the go command's cache are", "there is no room to build it"
	}
	a.packages++
	a.undecided = append(a.undecided, pkg)
	if err := a.sorter.Unknown(pkg, cause, remedy); a.err == nil {
		a.err = err
	}
	a.without(pkg, "could not tell: "+short)
}

// broken sends the events of a package that go test cannot build or load either.
func (a *autoRun) broken(pkg, why, what string) {
	a.failed = true
	a.packages++
	a.undecided = append(a.undecided, pkg)
	a.send(gotest.Event{Action: "build-output", ImportPath: pkg, Output: why + "\n"})
	a.send(gotest.Event{Action: "build-fail", ImportPath: pkg})
	a.send(gotest.Event{Action: "start", Package: pkg})
	a.send(gotest.Event{Action: "output", Package: pkg, Output: "FAIL\t" + pkg + " [" + what + "]\n"})
	a.send(gotest.Event{Action: "fail", Package: pkg, FailedBuild: pkg})
}

// noRoom returns the line of a failed build that says that a disk is full; "" if there is none.
func noRoom(failure error) string {
	for line := range strings.Lines(failure.Error()) {
		if strings.Contains(line, syscall.ENOSPC.Error()) || strings.Contains(line, "disk quota exceeded") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
