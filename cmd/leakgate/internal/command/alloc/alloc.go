// Package alloc is the command that says what tests and benchmarks allocate, or a process, by Go
// type and by line. With -base it compares that with another revision, by type and by function,
// and judges what grew. It measures both revisions with the tests that are the same in both alone,
// since a test that does more allocates more.
package alloc

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocrun"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
)

// testsFailed is the exit code if there are results, but tests failed.
const testsFailed = 4

// Options is the command line of leakgate alloc.
type Options struct {
	dir       string  // -C
	allow     float64 // percent
	base      string
	bench     string
	benchtime string
	formats   present.Formats
	json      bool
	runs      int    // -count
	output    string // -o
	run       string
	tags      string
	timeout   time.Duration
	top       cli.Top
	process   processFlags

	patterns    []string
	passthrough gotest.Passthrough
}

// FlagSet binds the flags to o.
func (o *Options) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("alloc")
	f.StringVar(&o.dir, "C", "", "")
	f.Float64Var(&o.allow, "allow", 5, "")
	f.StringVar(&o.base, "base", "", "")
	f.StringVar(&o.bench, "bench", "", "")
	f.StringVar(&o.benchtime, "benchtime", "100x", "")
	f.IntVar(&o.runs, "count", 6, "")
	f.BoolVar(&o.json, "json", false, "")
	f.StringVar(&o.output, "o", "", "")
	f.StringVar(&o.run, "run", "", "")
	f.StringVar(&o.tags, "tags", "", "")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "")
	o.top.Register(f)
	o.formats.Register(f)
	o.process.register(f)
	return f
}

// Parse reads the command line.
func Parse(args []string) (*Options, error) {
	o := new(Options)
	f := o.FlagSet()
	var rest []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i+1:]
	}
	var err error
	if o.patterns, err = cli.ParseMixed(f, args); err != nil {
		return nil, err
	}
	if o.passthrough, err = gotest.ParsePassthrough(rest); err != nil {
		return nil, err
	}
	if err := o.process.check(f, append(o.patterns, rest...)); err != nil {
		return nil, err
	}
	if len(o.patterns) == 0 {
		o.patterns = []string{"."}
	}
	if err := o.formats.Check(); err != nil {
		return nil, err
	}
	f.Visit(func(set *flag.Flag) {
		if o.base == "" && slices.Contains(withBase, set.Name) {
			err = fmt.Errorf("-%s goes with -base: without it nothing is judged", set.Name)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case o.timeout <= 0:
		return nil, fmt.Errorf("-timeout %v: it is more than 0", o.timeout)
	case o.allow < 0:
		return nil, fmt.Errorf("-allow %v: it is 0 or more, in percent", o.allow)
	case o.base == "":
		return o, nil
	case o.runs < minRuns:
		return nil, fmt.Errorf("-count %d: with fewer than %d runs of each revision no figure that varies can be told from one that grew", o.runs, minRuns)
	case o.output != "":
		return nil, errors.New("-base and -o: there would be two profiles; write each revision's without -base, and compare them with leakgate diff")
	}
	return o, o.checkPatterns()
}

// withBase are the flags that make sense with -base only.
var withBase = []string{"allow", "count", "github", "junit", "markdown", "sarif"}

// checkPatterns refuses patterns that cannot name packages of another revision.
func (o *Options) checkPatterns() error {
	for _, p := range o.patterns {
		if filepath.IsAbs(p) || strings.HasSuffix(p, ".go") {
			return fmt.Errorf("-base compares packages, and %s is a place in this working tree only: give packages relative to the current directory", p)
		}
	}
	return nil
}

// A report is what leakgate alloc found.
type report struct {
	Packages []*allocrun.Result `json:"packages"`
	Problems []problem          `json:"problems,omitempty"`
}

// A problem is why a package has no figures.
type problem struct {
	Package string `json:"package"`
	Text    string `json:"text"`
	build   bool
}

// Run is the command "leakgate alloc".
func Run(c *cli.Context, args []string) int {
	o, err := Parse(args)
	if err != nil {
		return c.Unparsed(err, "alloc")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case o.process.pid != 0:
		return o.follow(ctx, c)
	case o.base != "":
		return o.gate(ctx, c, args)
	}
	beat := startBeat(c)
	found, err := o.measure(ctx, c, beat)
	beat.Stop()
	switch {
	case ctx.Err() != nil:
		c.Failure("interrupted")
		return cli.Unknown
	case err != nil:
		return c.Failure("%v", err)
	}
	if o.output != "" && len(found.Packages) > 0 {
		if err := o.writeProfile(found); err != nil {
			return c.Failure("%v", err)
		}
	}
	if o.json {
		err = writeJSON(c.Stdout, found)
	} else {
		err = o.print(c.Stdout, found)
	}
	if err != nil {
		return c.Failure("%v", err)
	}
	return found.exitCode(c)
}

// exitCode prints what is wrong to standard error, and returns the exit code of the worst problem.
func (r *report) exitCode(c *cli.Context) int {
	code := cli.Pass
	for _, p := range r.Packages {
		if p.Failed {
			tellFailed(c, p)
			code = testsFailed
		}
	}
	for _, p := range r.Packages {
		if p.Untraced != "" {
			fmt.Fprintf(c.Stderr, "leakgate: could not tell what %s allocates by type: %s\n", p.Package, p.Untraced)
			code = cli.Unknown
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(c.Stderr, "leakgate: %s: %s\n", p.Package, p.Text)
		if code = cli.Unknown; p.build {
			return cli.Usage
		}
	}
	return code
}

// tellFailed prints that tests of a package failed.
func tellFailed(c *cli.Context, r *allocrun.Result) {
	text := "what they allocated counts. They run slower here than with go test, up to 40 times"
	if r.Profile == nil {
		text = "nothing is compared then"
	}
	fmt.Fprintf(c.Stderr, "leakgate: tests of %s failed%s; %s\n", r.Package, failedTests(r.Output), text)
}

// failedTests names the first tests that failed, according to their output.
func failedTests(output string) string {
	var names []string
	for line := range strings.Lines(output) {
		if name, ok := strings.CutPrefix(strings.TrimLeft(line, "\x16"), "--- FAIL: "); ok {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			if names = append(names, name); len(names) == 5 {
				names = append(names, "...")
				break
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// A plan says which packages to run, and how.
type plan struct {
	dir        string // where the go command runs
	folder     string // for test binaries, and what they write
	invocation *gotest.Invocation
	goVersion  string
	packages   []gotest.Package
	build      []string // flags of go test -c
	binary     []string // flags of the test binaries
}

// close removes what was written.
func (p *plan) close() { _ = os.RemoveAll(p.folder) }

// plan finds the packages to run.
func (o *Options) plan(c *cli.Context) (*plan, error) {
	goEnv, err := gotest.ReadModuleEnv(o.dir, c.Env)
	if err != nil {
		return nil, err
	}
	inv := &gotest.Invocation{Dir: o.dir, Env: c.Env, Tags: o.tags, Passthrough: o.passthrough, GOFLAGS: goEnv.GOFLAGS}
	packages, matched, err := gotest.Packages(gotest.Query{Dir: o.dir, Env: c.Env, BuildFlags: inv.BuildFlags()}, o.patterns)
	if err != nil {
		return nil, err
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("no package with tests among the %d that the patterns match", matched)
	}
	p := &plan{dir: o.dir, invocation: inv, goVersion: goEnv.GOVERSION, packages: packages}
	p.build, p.binary = inv.CompileArgs()
	for _, f := range []struct{ name, value string }{{"run", o.run}, {"bench", o.bench}} {
		if f.value != "" {
			p.binary = append([]string{"-test." + f.name + "=" + f.value}, p.binary...)
		}
	}
	p.binary = append([]string{"-test.benchtime=" + o.benchtime}, p.binary...)
	p.folder, err = os.MkdirTemp("", "leakgate-alloc-")
	return p, err
}

// config returns how to run a package.
func (o *Options) config(p *plan, pkg gotest.Package) *allocrun.Config {
	return &allocrun.Config{
		Folder: p.folder, Dir: p.dir, Env: p.invocation.Env, Package: pkg.ImportPath, Source: pkg.Dir,
		Build: p.build, Args: p.binary, Timeout: o.timeout,
	}
}

// measure runs the packages, one after another.
func (o *Options) measure(ctx context.Context, c *cli.Context, beat *present.Beat) (*report, error) {
	plan, err := o.plan(c)
	if err != nil {
		return nil, err
	}
	defer plan.close()
	found := &report{Packages: []*allocrun.Result{}}
	for i, p := range plan.packages {
		beat.At(measuring(i, plan))
		r, err := run(ctx, o.config(plan, p))
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			_, build := errors.AsType[*allocrun.BuildError](err)
			found.Problems = append(found.Problems, problem{p.ImportPath, err.Error(), build})
		case r != nil:
			found.Packages = append(found.Packages, r)
		}
	}
	return found, nil
}

// startBeat begins to say what is done.
func startBeat(c *cli.Context) *present.Beat {
	return present.StartBeat(present.OpenDisplay(c.Stderr, c.Env).Screen, c.Stderr, 10*time.Second, "loading packages")
}

// measuring says which package is measured.
func measuring(i int, p *plan) string {
	return fmt.Sprintf("measuring %s (%d of %d)", p.packages[i].ImportPath, i+1, len(p.packages))
}

// run builds and runs the tests of a package; the result is nil if there are none.
func run(ctx context.Context, config *allocrun.Config) (*allocrun.Result, error) {
	b, err := allocrun.Build(ctx, config)
	if b == nil {
		return nil, err
	}
	return b.Run(ctx)
}

// writeProfile writes what all packages allocated, by stack.
func (o *Options) writeProfile(r *report) error {
	path := o.output
	if !filepath.IsAbs(path) {
		path = filepath.Join(o.dir, path)
	}
	var all []*profile.Profile
	for _, p := range r.Packages {
		all = append(all, p.Profile)
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return fmt.Errorf("the profiles of packages: %w", err)
	}
	return cli.WriteFile(path, func(w io.Writer) error { return merged.Write(w) })
}
