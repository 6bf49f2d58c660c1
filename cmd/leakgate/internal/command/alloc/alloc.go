// Package alloc is the command that says what tests and benchmarks allocate, by Go type and by line.
package alloc

import (
	"context"
	"errors"
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
	"github.com/leakgate/leakgate/cmd/leakgate/internal/discover"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// testsFailed is the exit code where figures are there, but tests failed.
const testsFailed = 4

// Options is the command line of leakgate alloc.
type Options struct {
	dir       string // -C
	bench     string
	benchtime string
	json      bool
	count     int    // -n
	output    string // -o
	run       string
	tags      string
	timeout   time.Duration

	patterns    []string
	passthrough gotest.Passthrough
}

// Parse reads the command line.
func Parse(args []string) (*Options, error) {
	o := new(Options)
	f := cli.NewFlagSet("alloc")
	f.StringVar(&o.dir, "C", "", "")
	f.StringVar(&o.bench, "bench", "", "")
	f.StringVar(&o.benchtime, "benchtime", "100x", "")
	f.BoolVar(&o.json, "json", false, "")
	f.IntVar(&o.count, "n", 20, "")
	f.StringVar(&o.output, "o", "", "")
	f.StringVar(&o.run, "run", "", "")
	f.StringVar(&o.tags, "tags", "", "")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "")
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
	if len(o.patterns) == 0 {
		o.patterns = []string{"."}
	}
	switch {
	case o.count < 0:
		return nil, fmt.Errorf("-n %d is no number of lines", o.count)
	case o.timeout <= 0:
		return nil, fmt.Errorf("-timeout %v: it is more than 0", o.timeout)
	}
	return o, nil
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
	found, err := o.measure(ctx, c)
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

// exitCode tells what is wrong on standard error, and returns the exit code for the worst.
func (r *report) exitCode(c *cli.Context) int {
	code := cli.Pass
	for _, p := range r.Packages {
		if p.Failed {
			fmt.Fprintf(c.Stderr, "leakgate: tests of %s failed%s; what they allocated counts. They run slower here than with go test, up to 40 times\n", p.Package, failedTests(p.Output))
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

// failedTests names the first tests that failed, by what they printed.
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

// measure runs the packages, one after another.
func (o *Options) measure(ctx context.Context, c *cli.Context) (*report, error) {
	goEnv, err := gotest.ReadGoEnv(o.dir, c.Env)
	if err != nil {
		return nil, err
	}
	inv := &gotest.Invocation{Dir: o.dir, Env: c.Env, Tags: o.tags, Passthrough: o.passthrough, GOFLAGS: goEnv.GOFLAGS}
	packages, matched, err := discover.Packages(discover.Config{Dir: o.dir, Env: c.Env, BuildFlags: inv.BuildFlags()}, o.patterns)
	if err != nil {
		return nil, err
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("no package with tests among the %d that the patterns match", matched)
	}
	folder, err := os.MkdirTemp("", "leakgate-alloc-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	build, binary := inv.CompileArgs()
	for _, f := range []struct{ name, value string }{{"run", o.run}, {"bench", o.bench}} {
		if f.value != "" {
			binary = append([]string{"-test." + f.name + "=" + f.value}, binary...)
		}
	}
	binary = append([]string{"-test.benchtime=" + o.benchtime}, binary...)
	found := &report{Packages: []*allocrun.Result{}}
	for i, p := range packages {
		if len(packages) > 1 {
			fmt.Fprintf(c.Stderr, "%d of %d: %s\n", i+1, len(packages), p.ImportPath)
		}
		r, err := allocrun.Run(ctx, &allocrun.Config{
			Folder: folder, Dir: o.dir, Env: c.Env, Package: p.ImportPath, Source: p.Dir,
			Build: build, Args: binary, Timeout: o.timeout,
		})
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
	return wholefile.Write(path, 0o666, func(w io.Writer) error { return merged.Write(w) })
}
