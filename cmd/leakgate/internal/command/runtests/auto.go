package runtests

import (
	"cmp"
	gocontext "context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/drive"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/finding"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/workspace"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// repeatTests replaces "go test" for -auto: it repeats the tests of all packages, leaves records,
// and calls handle with the events that go test would have sent. Calls of handle do not overlap.
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
	a := &autoRun{session: s, started: time.Now(), sorter: finding.NewSorter(s.dir.Records(), s.options.again())}
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
	var err error
	if a.ignored, err = finding.LoadSuppressions(inv.Dir); err != nil {
		return err
	}
	paths := a.loadable()
	if len(paths) == 0 { // to the go command, no path is the folder where it runs
		return a.conclude()
	}
	packages, err := source.Packages(source.Config{Dir: inv.Dir, Env: inv.Env, BuildFlags: inv.BuildFlags()}, paths)
	if err != nil {
		return fmt.Errorf("cannot list packages:\n%w", err)
	}
	a.workspace, err = workspace.Open(workspace.Config{Dir: inv.Dir, Env: inv.Env, GOVERSION: a.report.GoVersion, Packages: packages})
	if err != nil {
		return fmt.Errorf("-auto: %w", err)
	}
	defer a.workspace.Close()
	a.sources = &source.Finder{Dirs: a.workspace.Modules}
	a.build, a.binary = inv.CompileArgs()
	if a.listing, err = a.workspace.List(inv.Dir, packages, inv.BuildFlags()); err != nil {
		return err
	}
	if err := a.workspace.Instrument(a.listing, a.sources); err != nil {
		return err
	}
	a.env = append(envvar.Without(inv.Env, envvar.Artifacts), envvar.Suppressed.Set(strings.Join(a.ignored.Patterns(), "\n")))
	a.buildAndRepeat(ctx, packages)
	if a.err != nil {
		return a.err
	}
	// What was found before an interruption stands.
	return cmp.Or(a.conclude(), ctx.Err())
}

// loadable returns the packages to run that load, and sends the events of the others.
func (a *autoRun) loadable() []string {
	paths := slices.Clone(a.invocation.Packages)
	for _, p := range a.found {
		if p.Broken != "" {
			a.broken(p.ImportPath, p.Broken, "setup failed")
			paths = slices.DeleteFunc(paths, func(path string) bool { return path == p.ImportPath })
		}
	}
	return paths
}

// buildAndRepeat builds one package after the other, and repeats the tests of several at a time.
func (a *autoRun) buildAndRepeat(ctx gocontext.Context, packages []*source.Package) {
	type built struct {
		p      *source.Package
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
			a.progress.Step("build", "building "+p.ImportPath, time.Time{})
			file, uncounted, err := a.workspace.Build(ctx, p, folder, a.build)
			if uncounted != "" {
				a.mu.Lock()
				a.uncounted = append(a.uncounted, p.ImportPath+": "+lastLine(uncounted))
				a.mu.Unlock()
			}
			a.progress.Step("build", "", time.Time{})
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

func (a *autoRun) repeat(ctx gocontext.Context, p *source.Package, file, folder string) error {
	modules, err := a.modules(file, p)
	if err != nil {
		return err
	}
	subtests := ""
	if strings.Contains(a.options.run, "/") {
		subtests = a.options.run
	}
	b := drive.Binary{
		Subtests: subtests, Beside: slowBeside,
		File: file, Test: workspace.TestName, Dir: p.Dir, Env: a.env, Args: a.binary, Folder: folder, Budget: a.options.auto.time,
		Say: func(what string, end time.Time) { a.progress.Step(p.ImportPath, p.ImportPath+": "+what, end) },
		RootsToSplit: func(e *drive.Exploration) []drive.Root {
			evidence := finding.Evidence{Record: e.Record, Lifetimes: e.Lifetimes}
			return finding.Roots(evidence, modules.Sort(evidence))
		},
	}
	a.begin(p)
	started := time.Now()
	before := lookAt(p.Dir, a.dir.Path, a.workspace.Dir)
	report, err := b.Run(ctx, a.functions(p), a.selected(p.Benchmarks()))
	a.progress.Step(p.ImportPath, "", time.Time{})
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

// slowBeside is how many slow functions of a package are repeated at the same time.
const slowBeside = 4

// again returns a function for the command that repeats some functions of a package. With more
// functions than a line can name, it is the whole package, with three times as long to tell them
// apart.
func (o *Options) again() func(pkg string, functions []string) string {
	flags, behind := "", ""
	if o.dir != "" {
		flags += " -C " + word(o.dir)
	}
	if o.tags != "" {
		flags += " -tags " + word(o.tags)
	}
	if o.race {
		flags += " -race"
	}
	if users := o.passthrough.All(); len(users) > 0 {
		behind = " --"
		for _, arg := range users {
			behind += " " + word(arg)
		}
	}
	const most = 10
	return func(pkg string, functions []string) string {
		if len(functions) > most {
			flags := flags
			if o.run != "" {
				flags += " -run " + quoted(o.run)
			}
			return fmt.Sprintf("leakgate run -auto%s -auto-time %s %s%s", flags, longer(o.auto.time), pkg, behind)
		}
		return fmt.Sprintf("leakgate run -auto%s -run %s %s%s", flags, quoted(finding.Pattern(functions)), pkg, behind)
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// longer is three times a duration, as a flag.
func longer(d time.Duration) string {
	if text, whole := strings.CutSuffix((3 * d).String(), "m0s"); whole {
		return text + "m"
	}
	return (3 * d).String()
}

// quoted quotes a word for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// word quotes a word for a shell if a shell would take it for anything else.
func word(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%"
	if word == "" || strings.Trim(word, plain) != "" {
		return quoted(word)
	}
	return word
}

// conclude writes findings and notes when all packages have ended.
func (a *autoRun) conclude() error {
	notes := a.sorter.Notes(a.options.verbose)
	for _, line := range a.ignored.Stale() {
		notes = append(notes, line+" matched nothing that grows in this run")
	}
	for _, what := range a.uncounted {
		notes = append(notes, "whether tests end what they get is not known, since the code does not build with the calls that count it, so what they may have to end is in notes: "+what)
	}
	for _, what := range a.moved {
		notes = append(notes, "tests that were ended had left files, which are in "+filepath.Join(a.options.artifactsPath(), "tests", "left")+" until the next run: "+what)
	}
	if n := len(a.left); n > 0 {
		shown := a.left
		if !a.options.verbose && n > maxLeft {
			shown = shown[:maxLeft]
		}
		note := fmt.Sprintf("not repeated, which is no failure (%d):", n)
		for _, line := range shown {
			note += "\n  " + line
		}
		if len(shown) < n {
			note += fmt.Sprintf("\n  and %d more: -v names them", n-len(shown))
		}
		notes = append(notes, note)
	}
	a.session.autoNotes = notes
	a.report.Coverage, a.report.Partial = a.coverage(time.Since(a.started)), a.partial()
	if a.covered == 0 && len(a.nothing) > 0 && a.report.Shard == nil { // another shard may have some
		a.session.autoProblems = []string{"nothing could be repeated: " + textfmt.EnumerateFirst(a.nothing, maxLeft)}
	}
	return a.sorter.LeaveFindings()
}

// partial says how little was judged, if it is less than half of the functions, or if packages have
// no verdict.
func (a *autoRun) partial() string {
	var parts []string
	if share := covered(a.covered, len(a.uncovered)); share != "" {
		parts = append(parts, share)
	}
	if n := len(a.undecided); n > 0 && n < a.packages {
		parts = append(parts, fmt.Sprintf("no verdict on %d of %d packages (%s)", n, a.packages, textfmt.EnumerateFirst(a.undecided, 3)))
	}
	return strings.Join(parts, ", ")
}

// covered says which share of functions was repeated, if that is less than half.
func covered(repeated, left int) string {
	all := repeated + left
	if repeated*2 >= all {
		return ""
	}
	return fmt.Sprintf("covered %d %%", 100*repeated/all)
}

// coverage says what was repeated, what was not and why, and how to cover more.
func (a *autoRun) coverage(took time.Duration) string {
	all := a.covered + len(a.uncovered)
	grows := ", nothing grows"
	switch n := a.sorter.Found(); {
	case n > 0:
		grows = ", " + textfmt.CountNoun(int64(n), "leak")
	case a.covered == 0: // nothing was judged
		grows = ""
	case len(a.sorter.Notes(false)) > 0:
		grows = ", no leak" // notes say what grows
	}
	text := a.partial()
	if text != "" {
		text += ": "
	}
	text += fmt.Sprintf("repeated %d of %s in %.0f s%s", a.covered, textfmt.CountNoun(int64(all), "function"), took.Seconds(), grows)
	if len(a.uncovered) == 0 {
		return text
	}
	text += fmt.Sprintf("; %d not covered: %s", len(a.uncovered), finding.Reasons(a.uncovered))
	if slices.ContainsFunc(a.uncovered, finding.NeedsTime) {
		text += fmt.Sprintf("; -auto-time %s covers more", longer(a.options.auto.time))
	}
	return text
}

// maxLeft is how many functions that were not repeated are named without -v.
const maxLeft = 10
