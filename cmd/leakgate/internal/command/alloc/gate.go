package alloc

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/revision"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
)

// gate compares with another revision, reports as leakgate run does, and returns the exit code.
func (o *Options) gate(ctx context.Context, c *cli.Context, args []string) int {
	r, err := revision.Find(o.dir, o.base)
	if err != nil {
		return c.Failure("-base: %v", err)
	}
	start := time.Now()
	here, err := o.plan(c)
	if err != nil {
		return c.Failure("%v", err)
	}
	defer here.close()
	fmt.Fprintf(c.Stderr, "running each revision's tests %d times, of %s and of this one\n", o.runs, r)
	beat := startBeat(c)
	g := &gate{o: o, revision: r, here: here}
	found, err := g.compareAll(ctx, beat)
	beat.Stop()
	switch {
	case ctx.Err() != nil:
		c.Failure("interrupted")
		return cli.Unknown
	case err != nil:
		c.Failure("-base %s: %v", r, err)
		return cli.Unknown
	}
	run := g.outcome(found)
	run.Command = append([]string{"leakgate", "alloc"}, args...)
	run.ElapsedSeconds = time.Since(start).Seconds()
	if err := o.presentGate(c, found, run); err != nil {
		return c.Failure("%v", err)
	}
	return run.ExitCode
}

// presentGate writes the findings in all requested forms.
func (o *Options) presentGate(c *cli.Context, found []*comparison, run *outcome.Run) error {
	for _, f := range found {
		switch {
		case f.build != "":
			fmt.Fprintf(c.Stderr, "leakgate: the tests of %s do not build:\n%s\n", f.pkg.ImportPath, f.build)
		case f.failed != nil:
			tellFailed(c, f.failed)
		}
	}
	if o.json {
		if err := (present.JSON{}).Present(c.Stdout, run); err != nil {
			return err
		}
		return o.formats.Write(run, o.dir, c.Env, c.Stderr)
	}
	return o.formats.Show(run, o.dir, c.Env, c.Stdout, func() error {
		for _, f := range found {
			if err := o.printComparison(c.Stdout, f); err != nil {
				return err
			}
		}
		return present.Summary{}.Present(c.Stdout, run)
	})
}

// printComparison writes the table of a package: the row All, and the types that differ.
func (o *Options) printComparison(w io.Writer, found *comparison) error {
	if found.rows == nil {
		return nil
	}
	var rows []compare.Row
	for _, r := range found.rows {
		if r.Name == allTypes || r.Objects.Trend() != 0 || r.Bytes.Trend() != 0 {
			row := *r.Row
			row.Group = found.pkg.ImportPath
			rows = append(rows, row)
		}
	}
	return present.Comparison(w, rows, int(o.top), "type")
}

// testName takes the place of a test's name in a package's assertion.
const testName = "allocations"

// outcome returns what was found as a run with one assertion for each package. One test stands for
// all of a package, since they ran many times.
func (g *gate) outcome(found []*comparison) *outcome.Run {
	run := &outcome.Run{
		Schema: outcome.Schema, Leakgate: cli.Version(), GoVersion: g.here.goVersion,
		Base: &outcome.Base{Name: g.revision.Name, Commit: g.revision.Commit},
	}
	var collector outcome.Collector
	end := outcome.Ending{Sources: outcome.FindSources(g.o.dir, gotest.PackageFolders(g.here.packages))}
	var left []string
	broken := false
	for _, f := range found {
		pkg := f.pkg.ImportPath
		if f.nothing != "" {
			collector.Observe(&gotest.Event{Action: "skip", Package: pkg, Elapsed: f.elapsed.Seconds()}, false)
			run.Notes = append(run.Notes, pkg+": "+f.nothing+": nothing to compare with")
			continue
		}
		if len(f.left) > 0 {
			left = append(left, pkg+": left out, being not the same at both revisions: "+leftOut(f.left))
		}
		switch {
		case f.build != "":
			broken = true
			collector.Observe(&gotest.Event{Action: "output", Package: pkg, Output: f.build + "\n"}, false)
			collector.Observe(&gotest.Event{Action: "fail", Package: pkg, FailedBuild: pkg, Elapsed: f.elapsed.Seconds()}, false)
		case f.failed != nil:
			broken = true
			collector.Ran(pkg, "tests", []string{f.failed.Output}, true, f.elapsed)
		default:
			r := g.result(f)
			collector.Ran(pkg, testName, nil, r.Verdict != verdict.Pass, f.elapsed)
			end.Records = append(end.Records, artifacts.Record{Result: r})
		}
	}
	run.Notes = append(run.Notes, left...)
	if len(end.Records) == 0 && !broken {
		end.Problems = []string{"nothing was compared: no package has a test that is the same in " + g.revision.String()}
	}
	collector.Conclude(run, end)
	return run
}

// leftOut names tests that were not run.
func leftOut(names []string) string {
	const shown = 5
	if len(names) > shown {
		names = append(names[:shown:shown], fmt.Sprintf("%d more", len(names)-shown))
	}
	return strings.Join(names, ", ")
}

// result returns the record of a package's assertion: a bound for each type.
func (g *gate) result(f *comparison) verdict.Result {
	r := f.unknown
	r.Schema, r.Package, r.Test, r.Seq = verdict.Schema, f.pkg.ImportPath, testName, 1
	if r.Verdict == verdict.Unknown {
		return r
	}
	r.Verdict = verdict.Pass
	where := f.grownMost()
	for _, row := range f.rows {
		bound := verdict.Bound{
			Kind: verdict.Allocs, Selector: "allocations of " + row.Name, MaxObjects: &row.MaxObjects, MaxBytes: &row.MaxBytes,
			Objects: row.Objects.New.Median(), Bytes: row.Bytes.New.Median(), Verdict: verdict.Pass,
		}
		if row.Group != "" && path.Base(row.Group) != packageOf(row.Name) {
			bound.Selector += " of " + row.Group
		}
		if row.Broken {
			bound.Verdict, bound.Growth = verdict.Fail, row.Text
			r.Verdict = verdict.Fail
			if where != nil {
				bound.File, bound.Line = f.inPackage(where.File), int(where.Line)
			}
		}
		r.Bounds = append(r.Bounds, bound)
	}
	if r.Verdict == verdict.Fail {
		r.Message = f.message(g)
	}
	return r
}

// packageOf returns the package's name in that of a type: "shop" of "*shop.Session".
func packageOf(name string) string {
	name, _, _ = strings.Cut(strings.TrimLeft(name, "[]*"), ".")
	return name
}

// grownMost returns the function of the module whose allocations grew most since the base; nil if
// none grew.
func (c *comparison) grownMost() *function {
	for _, f := range c.functions {
		if f.File != "" && f.Objects.Delta() > 0 {
			return f
		}
	}
	return nil
}

// inPackage returns a file relative to the package's folder, as records name files.
func (c *comparison) inPackage(file string) string {
	rel, err := filepath.Rel(c.pkg.Dir, file)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
}

// shownFunctions is how many functions a message names.
const shownFunctions = 10

// message says what grew, and where.
func (c *comparison) message(g *gate) string {
	lines := []string{fmt.Sprintf("more is allocated than in %s, in %d runs of each", g.revision, g.o.runs), ""}
	for _, row := range c.broken() {
		lines = append(lines, "    "+row.Name+": "+row.Text)
	}
	for i, f := range c.functions {
		delta := f.Objects.Delta()
		if i == shownFunctions || delta <= 0 {
			break
		}
		if i == 0 {
			lines = append(lines, "", "functions that allocate more, in one run of each:")
		}
		lines = append(lines, fmt.Sprintf("    +%s objects  %s", textfmt.Count(delta), placed(f.Name, f.File, f.Line)))
	}
	return strings.Join(lines, "\n")
}
