package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/formats"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// runOptions is the command line of leakgate run.
type runOptions struct {
	dir       string // -C
	all       bool
	auto      autoOptions
	base      string
	allocs    bool // -alloc-sites
	keep      keepOptions
	count     int
	full      bool
	isolate   bool
	json      bool
	native    bool
	artifacts string // -o
	race      bool
	run       string
	shard     shardFlag
	runs      int
	tags      string
	timeout   string
	update    bool
	verbose   bool
	formats   formats.Options

	patterns    []string
	passthrough gotest.Passthrough
}

// flagSet binds the flags of leakgate run to o.
func (o *runOptions) flagSet() *flag.FlagSet {
	f := cli.NewFlagSet("run")
	f.StringVar(&o.dir, "C", "", "")
	f.BoolVar(&o.all, "all", false, "")
	f.BoolVar(&o.auto.on, "auto", false, "")
	f.DurationVar(&o.auto.time, "auto-time", time.Minute, "")
	f.BoolVar(&o.allocs, "alloc-sites", false, "")
	o.keep.register(f)
	f.StringVar(&o.base, "base", "", "")
	f.IntVar(&o.count, "count", 1, "")
	f.BoolVar(&o.full, "full", false, "")
	f.BoolVar(&o.isolate, "isolate", false, "")
	f.BoolVar(&o.json, "json", false, "")
	f.BoolVar(&o.native, "native", false, "")
	f.StringVar(&o.artifacts, "o", artifacts.DefaultName, "")
	f.BoolVar(&o.race, "race", false, "")
	f.StringVar(&o.run, "run", "", "")
	f.Var(&o.shard, "shard", "")
	f.IntVar(&o.runs, "runs", 1, "")
	f.StringVar(&o.tags, "tags", "", "")
	f.StringVar(&o.timeout, "timeout", "", "")
	f.BoolVar(&o.update, "update", false, "")
	f.BoolVar(&o.verbose, "v", false, "")
	o.formats.Register(f)
	return f
}

// parseRun reads the command line of leakgate run. The error is flag.ErrHelp if help was asked for.
func parseRun(args []string) (*runOptions, error) {
	var o runOptions
	args, rest := args, []string(nil)
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i+1:]
	}
	f := o.flagSet()
	for {
		if err := f.Parse(args); err != nil {
			if strings.HasPrefix(err.Error(), "flag provided but not defined") {
				err = fmt.Errorf("%w; flags of go test come after --, as in: leakgate run ./... -- -shuffle=on", err)
			}
			return nil, err
		}
		args = f.Args()
		if len(args) == 0 {
			break
		}
		o.patterns = append(o.patterns, args[0])
		args = args[1:]
	}
	var err error
	if o.passthrough, err = gotest.ParsePassthrough(rest); err != nil {
		return nil, err
	}
	return &o, o.check()
}

func (o *runOptions) check() error {
	if o.count < 1 {
		return fmt.Errorf("-count %d: it must be 1 or more", o.count)
	}
	if _, err := time.ParseDuration(o.timeout); o.timeout != "" && err != nil {
		return fmt.Errorf("-timeout %s: it is a duration, such as 90s or 10m", o.timeout)
	}
	if o.artifacts == "" {
		return errors.New("-o names no directory")
	}
	if o.shard.Shard != nil && o.namesFiles() {
		return errors.New("-shard spreads packages: it does not go with Go files")
	}
	if err := o.checkAuto(); err != nil {
		return err
	}
	if err := o.checkBase(); err != nil {
		return err
	}
	if o.native && o.isolate {
		return errors.New("-native and -isolate do not go together: each has a way of its own to start test binaries")
	}
	if o.runs < 1 {
		return fmt.Errorf("-runs %d: it must be 1 or more", o.runs)
	}
	if o.runs > 1 && o.json {
		return errors.New("-runs and -json: there would be several streams of events")
	}
	if err := o.keep.check(); err != nil {
		return err
	}
	if err := o.formats.Check(); err != nil {
		return err
	}
	if len(o.patterns) == 0 {
		o.patterns = []string{"."}
	}
	return nil
}

// inEnvironment sets what the environment decides: Bazel gathers what lies in
// TEST_UNDECLARED_OUTPUTS_DIR.
func (o *runOptions) inEnvironment(env []string) {
	if outputs := cli.Lookup(env, "TEST_UNDECLARED_OUTPUTS_DIR"); outputs != "" && o.artifacts == artifacts.DefaultName {
		o.artifacts = filepath.Join(outputs, artifacts.DefaultName)
	}
}

// artifactsPath is the artifacts directory as seen from the current directory.
func (o *runOptions) artifactsPath() string {
	if filepath.IsAbs(o.artifacts) {
		return o.artifacts
	}
	return filepath.Join(o.dir, o.artifacts)
}

// namesFiles reports whether the patterns are Go files instead of packages, as in "go test
// a_test.go".
func (o *runOptions) namesFiles() bool {
	return slices.ContainsFunc(o.patterns, func(p string) bool { return strings.HasSuffix(p, ".go") })
}
