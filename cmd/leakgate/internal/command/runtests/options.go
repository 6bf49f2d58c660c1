package runtests

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/internal/envvar"
)

// Options is the command line of leakgate run.
type Options struct {
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
	formats   present.Formats

	patterns    []string
	passthrough gotest.Passthrough
}

// FlagSet binds the flags of leakgate run to o.
func (o *Options) FlagSet() *flag.FlagSet {
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

// inEnvironment sets options by the environment: Bazel collects the files in
// TEST_UNDECLARED_OUTPUTS_DIR.
func (o *Options) inEnvironment(env []string) {
	if outputs := cli.Lookup(env, "TEST_UNDECLARED_OUTPUTS_DIR"); outputs != "" && o.artifacts == artifacts.DefaultName {
		o.artifacts = filepath.Join(outputs, artifacts.DefaultName)
	}
}

// artifactsPath is the artifacts directory as seen from the current directory.
func (o *Options) artifactsPath() string {
	if filepath.IsAbs(o.artifacts) {
		return o.artifacts
	}
	return filepath.Join(o.dir, o.artifacts)
}

// namesFiles reports whether the patterns are Go files instead of packages, as in "go test
// a_test.go".
func (o *Options) namesFiles() bool {
	return slices.ContainsFunc(o.patterns, func(p string) bool { return strings.HasSuffix(p, ".go") })
}

// autoOptions are the flags of leakgate run -auto.
type autoOptions struct {
	on   bool
	time time.Duration // for a package
}

func (o *Options) invocation(e gotest.GoEnv) *gotest.Invocation {
	return &gotest.Invocation{
		Dir: o.dir, Run: o.run, Tags: o.tags, Timeout: o.timeout, Race: o.race, Verbose: o.verbose,
		AllocSites: o.allocs,
		Count:      o.count, Passthrough: o.passthrough, GOFLAGS: e.GOFLAGS,
	}
}

// testEnv is the environment of the test binaries.
func (o *Options) testEnv(env []string, dir *artifacts.Dir) []string {
	out := append(slices.Clone(env), envvar.Strict.Set("1"), envvar.Artifacts.Set(dir.Records()))
	out = append(out, o.keep.environment()...)
	if o.full {
		out = append(out, envvar.Full.Set("1"))
	}
	if o.update {
		out = append(out, envvar.Update.Set("1"))
	}
	if o.runs > 1 {
		out = append(out, envvar.Measure.Set("1"))
	}
	return out
}
