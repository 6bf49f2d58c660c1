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
	fmt.Fprintf(c.Stderr, "running each revision's tests %d times, of %s and of this one\n", o.runs, r)
	beat := startBeat(c)
	b := &baseRun{o: o, c: c, here: here, revision: r, beat: beat}
	found, err := b.compareAll(ctx)
	beat.Stop()
	switch {
	case ctx.Err() != nil:
		c.Failure("interrupted")
		return cli.Unknown
	case err != nil:
		c.Failure("-base %s: %v", r, err)
		return cli.Unknown
	}
	run := b.outcome(found)
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
	resume := func() {}
	if o.formats.OnGitHub(c.Env) {
		resume = present.StopCommands(c.Stdout)
	}
	defer resume()
	for _, f := range found {
		if err := o.printComparison(c.Stdout, f); err != nil {
			return err
		}
	}
	if err := (present.Summary{}).Present(c.Stdout, run); err != nil {
		return err
	}
	resume()
	return o.formats.Write(run, o.dir, c.Env, c.Stdout)
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

// outcome returns what was found as a run with one assertion for each package.
func (b *baseRun) outcome(found []*comparison) *outcome.Run {
	run := &outcome.Run{
		Schema: outcome.Schema, Leakgate: cli.Version(), GoVersion: b.here.goVersion,
		Base: &outcome.Base{Name: b.revision.Name, Commit: b.revision.Commit},
	}
	var collector outcome.Collector
	var records []artifacts.Record
	compared, left := 0, []string(nil)
	for _, f := range found {
		b.events(&collector, f)
		if f.nothing != "" {
			run.Notes = append(run.Notes, f.pkg.ImportPath+": "+f.nothing+": nothing to compare with")
			continue
		}
		if text := f.leftOut(); text != "" {
			left = append(left, text)
		}
		if f.build != "" || f.failed != nil {
			continue
		}
		compared++
		records = append(records, artifacts.Record{Result: b.result(f)})
	}
	run.Notes = append(run.Notes, left...)
	var problems []string
	if compared == 0 && !anyBroken(found) {
		problems = append(problems, "nothing was compared: no package has a test that is the same in "+b.revision.String())
	}
	collector.Conclude(run, outcome.Ending{
		Records: records, Problems: problems,
		Sources: outcome.FindSources(b.o.dir, gotest.PackageFolders(b.here.packages)),
	})
	return run
}

// anyBroken reports whether tests of a package do not build or fail here.
func anyBroken(found []*comparison) bool {
	for _, f := range found {
		if f.build != "" || f.failed != nil {
			return true
		}
	}
	return false
}

// events reports to the collector how the package's tests ended, as go test would. One test stands
// for all, since they ran many times.
func (b *baseRun) events(c *outcome.Collector, f *comparison) {
	observe := func(action, test, output string) {
		ev := &gotest.Event{Action: action, Package: f.pkg.ImportPath, Test: test, Output: output}
		if test == "" {
			ev.Elapsed = f.elapsed.Seconds()
		}
		if f.build != "" && action == "fail" {
			ev.FailedBuild = f.pkg.ImportPath
		}
		c.Observe(ev, false)
	}
	switch {
	case f.build != "":
		observe("output", "", f.build+"\n")
		observe("fail", "", "")
	case f.failed != nil:
		observe("run", "tests", "")
		observe("output", "tests", f.failed.Output)
		observe("fail", "tests", "")
		observe("output", "", "FAIL\n")
		observe("fail", "", "")
	case f.nothing != "":
		observe("skip", "", "")
	default:
		action := "pass"
		if f.unknown != nil || len(f.broken()) > 0 {
			action = "fail"
		}
		observe("run", testName, "")
		observe(action, testName, "")
		observe("output", "", "PASS\n")
		observe(action, "", "")
	}
}

// result returns the record of a package's assertion: a bound for each type.
func (b *baseRun) result(f *comparison) verdict.Result {
	r := verdict.Result{Schema: verdict.Schema, Package: f.pkg.ImportPath, Test: testName, Seq: 1, Verdict: verdict.Pass}
	if f.unknown != nil {
		r.Verdict, r.Cause, r.Remedy = verdict.Unknown, f.unknown.cause, f.unknown.remedy
		return r
	}
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
		r.Message = f.message(b)
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
func (c *comparison) message(b *baseRun) string {
	lines := []string{fmt.Sprintf("more is allocated than in %s, in %d runs of each", b.revision, b.o.runs), ""}
	for _, row := range c.broken() {
		lines = append(lines, "    "+row.Name+": "+row.Text)
	}
	first := true
	for i, f := range c.functions {
		delta := f.Objects.Delta()
		if i == shownFunctions || delta <= 0 {
			break
		}
		if first {
			lines = append(lines, "", "functions that allocate more, in one run of each:")
			first = false
		}
		at := shortName(f.Name)
		if f.File != "" {
			at += fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
		lines = append(lines, fmt.Sprintf("    +%s objects  %s", textfmt.Count(delta), at))
	}
	return strings.Join(lines, "\n")
}
