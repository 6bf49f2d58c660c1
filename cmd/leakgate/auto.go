package main

import (
	"cmp"
	gocontext "context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/drive"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/finding"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/leftover"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/plan"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/suppress"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/workspace"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/verdict"
)

// autoOptions are the flags of leakgate run -auto.
type autoOptions struct {
	on   bool
	time time.Duration // for a package
}

// minAutoTime is the least that a package may have: a few processes and snapshots.
const minAutoTime = 5 * time.Second

// checkAuto refuses what does not go with -auto.
func (o *runOptions) checkAuto() error {
	if !o.auto.on {
		return nil
	}
	for _, f := range []struct {
		name  string
		given bool
		why   string
	}{
		{"-update", o.update, "it compares with no golden file"},
		{"-runs", o.runs > 1, "it compares with no golden file"},
		{"-count", o.count != 1, "it decides itself how often tests are called"},
		{"-timeout", o.timeout != "", "give the time for a package with -auto-time"},
		{"-isolate", o.isolate, "it repeats tests in processes of its own"},
		{"-native", o.native, "it is for tests that assert that nothing grows"},
		{"Go files", o.namesFiles(), "it takes packages"},
	} {
		if f.given {
			return fmt.Errorf("-auto and %s do not go together: %s", f.name, f.why)
		}
	}
	if o.auto.time < minAutoTime {
		return fmt.Errorf("-auto-time %s: a package needs %s at least", o.auto.time, minAutoTime)
	}
	if _, err := regexp.Compile(o.run); err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	return nil
}

// An autoRun is leakgate run -auto on its way.
type autoRun struct {
	*session
	workspace *workspace.Workspace
	build     []string // flags
	binary    []string
	env       []string // of tests

	mu      sync.Mutex // of what follows
	emit    func(ev *gotest.Event) error
	failed  bool
	err     error
	sorter  *finding.Sorter
	ignored *suppress.List
	sources *source.Finder

	dependencies func() map[string]string // modules of all packages' tests, beside the user's
	moved        []string                 // what tests that were ended left in their folders
	left         []string                 // functions that were not repeated, and why
}

// repeatTests is what -auto does instead of "go test": it repeats the tests of all packages, leaves
// records, and calls handle with the events that go test would have sent. Calls do not overlap.
func (s *session) repeatTests(signals <-chan os.Signal, onSignal func(), handle func(line []byte, ev *gotest.Event) error) (gotest.Exit, error) {
	ctx, cancel := gocontext.WithCancel(gocontext.Background())
	defer cancel()
	interrupted := false
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-signals:
			interrupted = true
			onSignal()
			cancel()
		case <-done:
		}
	}()
	a := &autoRun{session: s, sorter: finding.NewSorter(s.dir.Records(), s.options.again())}
	a.emit = func(ev *gotest.Event) error {
		line, err := json.Marshal(ev)
		if err != nil {
			return err
		}
		return handle(append(line, '\n'), ev)
	}
	err := a.run(ctx)
	close(done)
	<-watched
	exit := gotest.Exit{Interrupted: interrupted}
	if a.failed {
		exit.Code = 1
	}
	if interrupted && errors.Is(err, gocontext.Canceled) {
		err = nil
	}
	return exit, err
}

func (a *autoRun) run(ctx gocontext.Context) error {
	inv := a.invocation
	packages, err := plan.Packages(plan.Config{Dir: inv.Dir, Env: inv.Env, BuildFlags: inv.BuildFlags()}, inv.Packages)
	if err != nil {
		return fmt.Errorf("cannot list packages:\n%w", err)
	}
	if a.ignored, err = suppress.Load(inv.Dir); err != nil {
		return err
	}
	a.workspace, err = workspace.Open(workspace.Config{Dir: inv.Dir, Env: inv.Env, GOVERSION: a.report.GoVersion, Packages: packages})
	if err != nil {
		return fmt.Errorf("-auto: %w", err)
	}
	defer a.workspace.Close()
	a.sources = &source.Finder{Dirs: a.workspace.Modules}
	a.build, a.binary = inv.CompileArgs()
	a.dependencies = sync.OnceValue(func() map[string]string {
		return a.workspace.Dependencies(inv.Dir, packages, inv.BuildFlags())
	})
	a.env = envvar.Without(inv.Env, envvar.Artifacts)
	a.all(ctx, packages)
	if a.err != nil {
		return a.err
	}
	// What was found before an interruption stands.
	return cmp.Or(a.conclude(), ctx.Err())
}

// all builds one package after the other, and runs those that are built side by side.
func (a *autoRun) all(ctx gocontext.Context, packages []*plan.Package) {
	type built struct {
		p      *plan.Package
		file   string
		folder string
	}
	queue := make(chan built, 1)
	go func() {
		defer close(queue)
		for i, p := range packages {
			if ctx.Err() != nil || a.stopped() {
				return
			}
			if len(a.functions(p))+len(a.selected(p.Benchmarks())) == 0 {
				a.skip(p)
				continue
			}
			folder, err := a.workspace.Folder(fmt.Sprintf("p%d", i))
			if err != nil {
				a.stop(err)
				return
			}
			file, err := a.workspace.Build(ctx, p, folder, a.build)
			if err != nil {
				a.unbuilt(ctx, p, err)
				continue
			}
			select {
			case queue <- built{p, file, folder}:
			case <-ctx.Done():
				return
			}
		}
	}()
	var workers sync.WaitGroup
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		workers.Go(func() {
			for b := range queue {
				if err := a.repeat(ctx, b.p, b.file, b.folder); err != nil && ctx.Err() == nil {
					a.stop(err)
				}
				_ = os.Remove(b.file) // large
			}
		})
	}
	workers.Wait()
}

// functions are those of a package that -run selects.
func (a *autoRun) functions(p *plan.Package) []string { return a.selected(p.Names()) }

// selected are those of some names that -run matches.
func (a *autoRun) selected(names []string) []string {
	if a.options.run == "" {
		return names
	}
	// As in go test, what follows a slash is about subtests, which are chosen when their test runs.
	first, _, _ := strings.Cut(a.options.run, "/")
	pattern, err := regexp.Compile(first)
	if err != nil {
		return nil // of a pattern with a slash in parentheses: nothing is repeated, which is said
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !pattern.MatchString(name) })
}

func (a *autoRun) repeat(ctx gocontext.Context, p *plan.Package, file, folder string) error {
	modules, err := a.modules(file, p)
	if err != nil {
		return err
	}
	subtests := ""
	if strings.Contains(a.options.run, "/") {
		subtests = a.options.run
	}
	b := drive.Binary{
		Subtests: subtests,
		File:     file, Test: workspace.TestName, Dir: p.Dir, Env: a.env, Args: a.binary, Folder: folder, Budget: a.options.auto.time,
		Matters: func(r *verdict.Result) []string { return finding.Roots(modules.Sort(r)) },
	}
	a.begin(p)
	started := time.Now()
	before := leftover.Look(p.Dir, a.dir.Path, a.workspace.Dir)
	report, err := b.Run(ctx, a.functions(p), a.selected(p.Benchmarks()))
	var moved []string
	if err != nil || report.Cut {
		moved = before.Move(filepath.Join(a.dir.Records(), "left", filepath.FromSlash(p.ImportPath)))
	}
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(moved) > 0 {
		a.moved = append(a.moved, fmt.Sprintf("%s: %s", p.ImportPath, strings.Join(moved, ", ")))
	}
	outcome, err := a.sorter.Add(p.ImportPath, modules, report)
	if err != nil {
		return err
	}
	return a.ended(p, outcome, time.Since(started))
}

func (a *autoRun) stopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err != nil
}

func (a *autoRun) stop(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
}

// again is the command that repeats some functions of a package; where they are more than a line can
// name, the whole package, with three times as long to tell them apart.
func (o *runOptions) again() func(pkg string, functions []string) string {
	flags := ""
	if o.tags != "" {
		flags += " -tags " + o.tags
	}
	if o.race {
		flags += " -race"
	}
	const most = 10
	return func(pkg string, functions []string) string {
		if len(functions) > most {
			flags := flags
			if o.run != "" {
				flags += " -run " + quoted(o.run)
			}
			return fmt.Sprintf("leakgate run -auto%s -auto-time %s %s", flags, 3*o.auto.time, pkg)
		}
		return fmt.Sprintf("leakgate run -auto%s -run %s %s", flags, quoted(finding.Pattern(functions)), pkg)
	}
}

// quoted is a word for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
