package alloc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocrun"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/revision"
	"github.com/leakgate/leakgate/internal/verdict"
)

// A comparison is what a package allocates here and at the base.
type comparison struct {
	pkg       gotest.Package
	elapsed   time.Duration
	left      []string // tests that differ between the revisions, and were not run
	nothing   string   // why there is nothing to compare; "" otherwise
	build     string   // output of the go command if the tests here do not build
	failed    *allocrun.Result
	unknown   verdict.Result // has a verdict if the package could not be judged
	rows      []*typeRow
	functions []*function // nil unless a row is broken
}

// cannotTell says why the package could not be judged.
func (c *comparison) cannotTell(cause, remedy string) {
	c.unknown = verdict.Result{Verdict: verdict.Unknown, Cause: cause, Remedy: remedy}
}

func (c *comparison) broken() (rows []*typeRow) {
	for _, r := range c.rows {
		if r.Broken {
			rows = append(rows, r)
		}
	}
	return rows
}

// A gate runs packages here and at the base.
type gate struct {
	o          *Options
	revision   *revision.Revision
	base, here *plan
}

// compareAll checks the base out and compares all packages.
func (g *gate) compareAll(ctx context.Context, beat *present.Beat) ([]*comparison, error) {
	store, err := revision.OpenStore(g.revision)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	w, err := g.revision.Checkout(store.Tree())
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Close() }()
	base := *g.here
	g.base = &base
	base.dir, base.folder = w.Dir, filepath.Join(base.folder, "base")
	if base.packages, err = w.Packages(base.invocation.Env, base.invocation.BuildFlags(), g.o.patterns); err != nil {
		return nil, err
	}
	if err := os.Mkdir(base.folder, 0o777); err != nil {
		return nil, err
	}
	var all []*comparison
	for i, p := range g.here.packages {
		beat.At(measuring(i, g.here))
		start := time.Now()
		found := &comparison{pkg: p}
		if err := g.compare(ctx, found); err != nil {
			return nil, err
		}
		found.elapsed = time.Since(start)
		all = append(all, found)
	}
	return all, nil
}

// compare compares a package. The error comes from ctx, or from this machine.
func (g *gate) compare(ctx context.Context, found *comparison) error {
	p := found.pkg
	at := slices.IndexFunc(g.base.packages, func(b gotest.Package) bool { return b.ImportPath == p.ImportPath })
	if at < 0 {
		found.nothing = "not in " + g.revision.String()
		return nil
	}
	before := g.base.packages[at]
	tests, err := compareTests(p.Dir, before.Dir)
	if err != nil {
		found.cannotTell(err.Error(), "it has to parse at both revisions")
		return nil
	}
	found.left = tests.different
	if len(tests.same) == 0 {
		found.nothing = "none of its tests is the same in " + g.revision.String()
		return nil
	}
	skip, _ := g.here.invocation.Flag("skip")
	wanted := selection{g.o.run, g.o.bench, skip}.restrictTo(tests.same, tests.different)
	var binaries [2]*allocrun.Binary
	for i, c := range []*allocrun.Config{g.o.config(g.base, before), g.o.config(g.here, p)} {
		c.Args = wanted.apply(c.Args)
		// Package testing itself allocates differently from run to run: its patterns take memory
		// from pools, which collections empty. Tests and benchmarks have goroutines of their own.
		c.WithoutMain = !tests.onMain
		binaries[i], err = allocrun.Build(ctx, c)
		switch failure, ok := errors.AsType[*allocrun.BuildError](err); {
		case ok && i == 0:
			found.cannotTell("its tests do not build in "+g.revision.String()+":\n"+failure.Output, "compare with a revision whose tests build")
			return nil
		case ok:
			found.build = failure.Output
			return nil
		case err != nil:
			return err
		case binaries[i] == nil:
			found.nothing = "no tests"
			return nil
		}
	}
	return g.measure(ctx, found, binaries)
}

// measure runs both binaries in turn, so that a change on the machine meanwhile does not look like
// a difference of the revisions.
func (g *gate) measure(ctx context.Context, found *comparison, binaries [2]*allocrun.Binary) error {
	var runs [2][]*allocrun.Result
	for n := range g.o.runs {
		for i := range 2 {
			side := (i + n) % 2
			r, err := binaries[side].Types(ctx)
			if !g.usable(ctx, found, side, r, err) {
				return ctx.Err()
			}
			runs[side] = append(runs[side], r)
		}
	}
	found.rows = typeRows(runs[0], runs[1], g.o.allow)
	if len(found.broken()) == 0 {
		return nil
	}
	var lines [2]*allocrun.Result
	for side, binary := range binaries {
		r, err := binary.Run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil //nolint:nilerr // the types are known; what failed is to say where
		}
		lines[side] = r
	}
	found.functions = changedFunctions(lines[0], lines[1])
	return nil
}

// usable reports whether a run can be compared, and notes in found why it cannot. side is 0 for the
// base.
func (g *gate) usable(ctx context.Context, found *comparison, side int, r *allocrun.Result, err error) bool {
	at := ""
	if side == 0 {
		at = " in " + g.revision.String()
	}
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		found.cannotTell("the run"+at+": "+err.Error(), "run the tests with go test; leave out those that end the program (-run, -skip)")
	case r.Untraced != "":
		found.cannotTell("types"+at+" could not be told: "+r.Untraced, "see leakgate help alloc")
	case r.Failed && side == 0:
		found.cannotTell("tests fail"+at+failedTests(r.Output), "leave them out (-run, or -- -skip=...)")
	case r.Failed:
		found.failed = r
	default:
		return true
	}
	return false
}
