// Package runtests is the command that runs tests with leakcheck assertions, as a gate.
package runtests

import (
	"errors"
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/isolate"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/internal/envvar"
)

// Run is the command "leakgate run".
func Run(c *cli.Context, args []string) int {
	o, err := Parse(args)
	if err != nil {
		return c.Unparsed(err, "run")
	}
	o.inEnvironment(c.Env)
	s, err := newSession(c, o)
	if s != nil {
		defer s.close()
	}
	if _, ok := errors.AsType[*errBase](err); ok {
		c.Failure("%v", err)
		return cli.Unknown
	}
	if err != nil {
		return c.Failure("%v", err)
	}
	s.report.Command = append([]string{"leakgate", "run"}, args...)
	if err := s.run(); err != nil {
		return c.Failure("%v", err)
	}
	return s.report.ExitCode
}

// newSession prepares a run: it finds the packages, and makes the artifacts directory.
func newSession(c *cli.Context, o *Options) (*session, error) {
	d := present.OpenDisplay(c.Stdout, c.Env)
	if o.json {
		d = present.OpenDisplay(c.Stderr, c.Env)
	}
	beat := present.StartBeat(d.Screen, c.Stderr, progressInterval, "loading packages")
	defer beat.Stop()
	goEnv, err := gotest.ReadModuleEnv(o.dir, c.Env)
	if err != nil {
		return nil, err
	}
	inv := o.invocation(goEnv)
	inv.Env = c.Env
	found, err := o.findPackages(inv)
	if err != nil {
		return nil, err
	}
	dir, err := artifacts.Open(o.artifactsPath())
	if err != nil {
		return nil, err
	}
	if o.shard.Shard != nil {
		found = outcome.Part(o.shard.Shard, found)
	}
	inv.Debug = []string{} // none; nil means all
	for _, p := range found {
		inv.Packages = append(inv.Packages, p.ImportPath)
		if p.Leakcheck {
			inv.Debug = append(inv.Debug, p.ImportPath)
		}
	}
	if len(inv.Debug) == len(inv.Packages) {
		inv.Debug = nil // all: one flag is enough
	}
	if o.namesFiles() {
		inv.Packages, inv.Debug = o.patterns, nil
	}
	inv.Env = o.testEnv(c.Env, dir)
	var isolated *isolate.Folder
	if o.isolate {
		if isolated, err = isolateTests(inv); err != nil {
			dir.Close()
			return nil, err
		}
	}
	var native *nativeRun
	if o.native {
		beat.At("compiling the library that records calls of C code")
		if native, err = recordNative(inv, goEnv, c.Env); err != nil {
			dir.Close()
			return nil, err
		}
	}
	var against *base
	if o.base != "" {
		beat.At("measuring the base " + o.base)
		say := func(text string) { fmt.Fprintln(d.Screen, text) }
		if against, err = measureBase(c, o, found, goEnv, dir.Base(), say); err != nil {
			if isolated != nil {
				isolated.Close()
			}
			if native != nil {
				native.close()
			}
			dir.Close()
			return nil, err
		}
		inv.Env = append(inv.Env, envvar.Goldens.Set(dir.Base()))
	}
	return &session{
		context: c, options: o, invocation: inv, found: found, sources: outcome.FindSources(o.dir, gotest.PackageFolders(found)), dir: dir, display: d,
		report: &outcome.Run{Schema: outcome.Schema, Leakgate: cli.Version(), GoVersion: goEnv.GOVERSION, Shard: o.shard.Shard},
		base:   against, isolated: isolated, native: native,
	}, nil
}

// findPackages returns the packages to run, by import path. There is at least one.
func (o *Options) findPackages(inv *gotest.Invocation) ([]gotest.Package, error) {
	found, matched, err := gotest.Packages(
		gotest.Query{Dir: o.dir, Env: inv.Env, BuildFlags: inv.BuildFlags()}, o.patterns)
	if _, ok := errors.AsType[*gotest.LoadError](err); ok {
		return nil, fmt.Errorf("cannot load packages:\n%w", err)
	}
	if err != nil {
		return nil, err
	}
	patterns := strings.Join(o.patterns, " ")
	if matched == 0 {
		return nil, fmt.Errorf("no packages match %s", patterns)
	}
	var wanted []gotest.Package
	for _, p := range found {
		if p.Leakcheck || p.Broken != "" || o.all || o.auto.on {
			wanted = append(wanted, p)
		}
	}
	switch {
	case len(wanted) > 0:
		return wanted, nil
	case len(found) == 0:
		return nil, fmt.Errorf("none of the packages that match %s has tests\n%s", patterns, firstTest)
	default:
		return nil, fmt.Errorf("no test in %s uses leakcheck, so there is nothing to check\n%s", patterns, firstTest)
	}
}

// firstTest is the help for a user who has no test yet.
const firstTest = `Add one, for example:

	import "` + gotest.LeakcheckPath + `"

	func TestRetained(t *testing.T) {
		// ... use the code under test ...
		leakcheck.AssertRetained(t)
	}

and write its golden file with: leakgate run -update`
