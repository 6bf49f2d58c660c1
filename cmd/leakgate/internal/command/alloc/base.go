package alloc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocrun"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/revision"
)

// A comparison is what a package allocates here and at the base.
type comparison struct {
	pkg       gotest.Package
	elapsed   time.Duration
	left      []string // tests that differ between the revisions, and were not run
	nothing   string   // why there is nothing to compare; "" otherwise
	build     string   // output of the go command if the tests here do not build
	failed    *allocrun.Result
	unknown   *unknown
	rows      []*typeRow
	functions []*function // nil unless a row is broken
}

// unknown says why a package could not be judged.
type unknown struct{ cause, remedy string }

func (c *comparison) broken() (rows []*typeRow) {
	for _, r := range c.rows {
		if r.Broken {
			rows = append(rows, r)
		}
	}
	return rows
}

// A baseRun runs packages at two revisions.
type baseRun struct {
	beat     *present.Beat
	o        *Options
	c        *cli.Context
	here     *plan
	revision *revision.Revision
	there    []gotest.Package // packages with tests at the base
	dir      string           // the base's copy of the folder here
	// folders for test binaries and what they write: of the base, and of this revision
	folders [2]string
}

// compareAll checks the base out and compares all packages.
func (b *baseRun) compareAll(ctx context.Context) ([]*comparison, error) {
	store, err := revision.OpenStore(b.revision)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	w, err := b.revision.Checkout(store.Tree())
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Close() }()
	b.dir = w.Dir
	if b.there, err = w.Packages(b.c.Env, b.here.invocation.BuildFlags(), b.o.patterns); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "leakgate-alloc-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for i, name := range []string{"base", "here"} {
		b.folders[i] = filepath.Join(folder, name)
		if err := os.Mkdir(b.folders[i], 0o777); err != nil {
			return nil, err
		}
	}
	var all []*comparison
	for i, p := range b.here.packages {
		b.beat.At(measuring(i, b.here))
		start := time.Now()
		found := &comparison{pkg: p}
		if err := b.compare(ctx, found); err != nil {
			return nil, err
		}
		found.elapsed = time.Since(start)
		all = append(all, found)
	}
	return all, nil
}

// compare compares a package. The error comes from ctx, or from this machine.
func (b *baseRun) compare(ctx context.Context, found *comparison) error {
	p := found.pkg
	at := slices.IndexFunc(b.there, func(t gotest.Package) bool { return t.ImportPath == p.ImportPath })
	if at < 0 {
		found.nothing = "not in " + b.revision.String()
		return nil
	}
	before := b.there[at]
	tests, err := compareTests(p.Dir, before.Dir)
	if err != nil {
		found.unknown = &unknown{err.Error(), "it has to parse at both revisions"}
		return nil
	}
	found.left = tests.different
	if len(tests.same) == 0 {
		found.nothing = "none of its tests is the same in " + b.revision.String()
		return nil
	}
	config := [2]*allocrun.Config{b.o.config(b.c, b.here, b.folders[0], before), b.o.config(b.c, b.here, b.folders[1], p)}
	config[0].Dir = b.dir
	skip, _ := b.here.invocation.Flag("skip")
	wanted := selection{b.o.run, b.o.bench, skip}.restrictTo(tests.same, tests.different)
	var binaries [2]*allocrun.Binary
	for i, c := range config {
		c.Args = wanted.apply(c.Args)
		// Package testing itself allocates differently from run to run: its patterns take memory
		// from pools, which collections empty. Tests and benchmarks have goroutines of their own.
		c.WithoutMain = !tests.onMain
		binaries[i], err = allocrun.Build(ctx, c)
		switch failure, ok := errors.AsType[*allocrun.BuildError](err); {
		case ok && i == 0:
			found.unknown = &unknown{"its tests do not build in " + b.revision.String() + ":\n" + failure.Output, "compare with a revision whose tests build"}
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
	return b.measure(ctx, found, binaries)
}

// measure runs both binaries in turn, so that a change on the machine meanwhile does not look like
// a difference of the revisions.
func (b *baseRun) measure(ctx context.Context, found *comparison, binaries [2]*allocrun.Binary) error {
	var runs [2][]*allocrun.Result
	for n := range b.o.runs {
		for i := range 2 {
			side := (i + n) % 2
			r, err := binaries[side].Types(ctx)
			if !b.usable(ctx, found, side, r, err) {
				return ctx.Err()
			}
			runs[side] = append(runs[side], r)
		}
	}
	found.rows = typeRows(runs[0], runs[1], b.o.allow)
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
func (b *baseRun) usable(ctx context.Context, found *comparison, side int, r *allocrun.Result, err error) bool {
	at := ""
	if side == 0 {
		at = " in " + b.revision.String()
	}
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		found.unknown = &unknown{"the run" + at + ": " + err.Error(), "run the tests with go test; leave out those that end the program (-run, -skip)"}
	case r.Untraced != "":
		found.unknown = &unknown{"types" + at + " could not be told: " + r.Untraced, "see leakgate help alloc"}
	case r.Failed && side == 0:
		found.unknown = &unknown{"tests fail" + at + failedTests(r.Output), "leave them out (-run, or -- -skip=...)"}
	case r.Failed:
		found.failed = r
	default:
		return true
	}
	return false
}

// leftOut says which tests were not run; "" if all were.
func (c *comparison) leftOut() string {
	if len(c.left) == 0 {
		return ""
	}
	const shown = 5
	names := slices.Clone(c.left)
	if len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("%d more", len(c.left)-shown))
	}
	return fmt.Sprintf("%s: left out, being not the same at both revisions: %s", c.pkg.ImportPath, strings.Join(names, ", "))
}
