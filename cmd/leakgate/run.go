package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/discover"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
)

// runTests is the command "leakgate run".
func runTests(c *context, args []string) int {
	o, err := parseRun(args)
	if errors.Is(err, flag.ErrHelp) {
		return printHelp(c, []string{"run"})
	}
	if err != nil {
		return c.usageError(err.Error(), "help run")
	}
	goEnv, err := gotest.ReadGoEnv(o.dir, c.env)
	if err != nil {
		return c.failure("%v", err)
	}
	inv := o.invocation(goEnv)
	inv.Env = c.env
	found, err := o.findPackages(inv)
	if err != nil {
		return c.failure("%v", err)
	}
	dir, err := artifacts.Open(o.artifactsPath())
	if err != nil {
		return c.failure("%v", err)
	}
	if inv.Packages = found; o.namesFiles() {
		inv.Packages = o.patterns
	}
	inv.Env = testEnv(c.env, dir, o.update)

	report := &outcome.Run{
		Schema:    outcome.Schema,
		Leakgate:  version(),
		GoVersion: goEnv.GOVERSION,
		Command:   append([]string{"leakgate", "run"}, args...),
	}
	d := newDisplay(c.stdout, c.env)
	if o.json {
		d = newDisplay(c.stderr, c.env)
	}
	if err := execute(c, o, inv, dir, d, report); err != nil {
		return c.failure("%v", err)
	}
	return report.ExitCode
}

func (o *runOptions) invocation(e gotest.GoEnv) *gotest.Invocation {
	return &gotest.Invocation{
		Dir: o.dir, Run: o.run, Tags: o.tags, Timeout: o.timeout, Race: o.race, Verbose: o.verbose,
		Count: o.count, Passthrough: o.passthrough, GOFLAGS: e.GOFLAGS,
	}
}

// findPackages returns the import paths of the packages to run. There is at least one.
func (o *runOptions) findPackages(inv *gotest.Invocation) ([]string, error) {
	found, matched, err := discover.Packages(
		discover.Config{Dir: o.dir, Env: inv.Env, BuildFlags: inv.BuildFlags()}, o.patterns)
	if _, ok := errors.AsType[*discover.LoadError](err); ok {
		return nil, fmt.Errorf("cannot load packages:\n%w", err)
	}
	if err != nil {
		return nil, err
	}
	patterns := strings.Join(o.patterns, " ")
	if matched == 0 {
		return nil, fmt.Errorf("no packages match %s", patterns)
	}
	var paths []string
	for _, p := range found {
		if p.Leakcheck || o.all {
			paths = append(paths, p.ImportPath)
		}
	}
	switch {
	case len(paths) > 0:
		slices.Sort(paths)
		return paths, nil
	case len(found) == 0:
		return nil, fmt.Errorf("none of the packages that match %s has tests\n%s", patterns, firstTest)
	default:
		return nil, fmt.Errorf("no test in %s uses leakcheck, so there is nothing to check\n%s", patterns, firstTest)
	}
}

// firstTest helps who has no test yet.
const firstTest = `Add one, for example:

	import "` + discover.Leakcheck + `"

	func TestRetained(t *testing.T) {
		// ... use the code under test ...
		leakcheck.AssertRetained(t)
	}

and write its golden file with: leakgate run -update`

// testEnv is the environment of the test binaries.
func testEnv(env []string, dir *artifacts.Dir, update bool) []string {
	out := append(slices.Clone(env), "LEAKCHECK_STRICT=1", "LEAKGATE_ARTIFACTS="+dir.Records())
	if update {
		out = append(out, "LEAKCHECK_UPDATE=1")
	}
	return out
}

// execute runs go test, fills in report, shows it and writes it to dir.
func execute(c *context, o *runOptions, inv *gotest.Invocation, dir *artifacts.Dir, d *display, report *outcome.Run) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	var collector outcome.Collector
	var interrupted atomic.Bool
	progress := present.NewProgress(d.screen, len(inv.Packages), o.verbose)
	stop := progress.Animate()
	started := time.Now()
	exit, err := inv.Start(d.screen.Beside(c.stderr), signals, func() { interrupted.Store(true) }, func(line []byte, ev *gotest.Event) error {
		if ev == nil {
			progress.Line(line)
		} else {
			collector.Observe(ev, interrupted.Load())
			progress.Event(ev)
		}
		if o.json {
			if _, err := c.stdout.Write(line); err != nil {
				return fmt.Errorf("writing the event stream: %w", err)
			}
		}
		return nil
	})
	progress.Close()
	stop()
	if err != nil {
		return err
	}

	report.ElapsedSeconds = time.Since(started).Seconds()
	end := outcome.Ending{GoFailed: exit.Code != 0, Interrupted: exit.Interrupted}
	end.Records, end.Problems = dir.Gather()
	collector.Conclude(report, end)

	var json present.Presenter = present.JSON{}
	if err := dir.WriteReport(func(w io.Writer) error { return json.Present(w, report) }); err != nil {
		return err
	}
	summary := present.Summary{Artifacts: o.artifactsPath(), Color: d.color}
	return summary.Present(d.screen, report)
}
