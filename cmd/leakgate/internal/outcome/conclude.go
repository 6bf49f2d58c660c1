package outcome

import (
	"cmp"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/internal/verdict"
)

// Ending is the input of Conclude, beside the events.
type Ending struct {
	Records     []artifacts.Record
	Problems    []string // each makes the run at best unknown
	GoFailed    bool     // the go command ended with an error
	Interrupted bool
	Sources     Sources
}

// Conclude sets the results of the run: Outcome, ExitCode, Interrupted, Totals, Problems, Packages.
//
// A failed test is explained by a record of its own that says fail or unknown, and by failed
// subtests; a failed package by failed tests, or by a record of TestMain. A test that fails both
// for what it retains and for another reason is therefore a regression: the event stream cannot
// tell the two apart. A test binary that did not reach its end is a failure of its own, whatever
// its records say.
func (c *Collector) Conclude(run *Run, end Ending) {
	run.Interrupted = end.Interrupted
	run.Problems = end.Problems
	for path, dir := range end.Sources.Dirs {
		if p := c.packages[path]; p != nil {
			p.Dir = dir
		}
	}
	c.attach(end.Records)
	run.Packages = nil
	run.Totals = Totals{}
	for _, p := range c.packages {
		p.conclude(end.Interrupted)
		for _, a := range p.Assertions {
			a.Findings = end.Sources.findings(&p.Package, a)
		}
		run.Totals.add(p)
		run.Packages = append(run.Packages, &p.Package)
	}
	slices.SortFunc(run.Packages, func(a, b *Package) int { return cmp.Compare(a.ImportPath, b.ImportPath) })
	run.Outcome = run.decide(end.GoFailed)
	run.ExitCode = ExitCode(run.Outcome)
}

// decide chooses the outcome where several apply. A build error comes first, then an assertion that
// is wrong itself: with either, something was not checked. A failure for other reasons comes before
// a regression: what a broken test retains says little.
func (r *Run) decide(goFailed bool) Outcome {
	t := r.Totals
	switch {
	case t.BuildErrors > 0:
		return BuildError
	case goFailed && t.FailedTests == 0 && t.OtherFailures == 0 && !r.anyFailed() && !r.Interrupted:
		// go test failed, and no package did: a flag or a module that it does not accept
		return BuildError
	case t.Misused > 0:
		return Misuse
	case t.OtherFailures > 0:
		return TestFailure
	case t.Fail > 0:
		return Regression
	case t.Unknown > 0 || len(r.Problems) > 0 || r.Interrupted:
		return Unknown
	case t.Assertions == 0 && r.Shard == nil: // another shard may have assertions: Merge decides
		return Nothing
	}
	return Pass
}

func (r *Run) anyFailed() bool {
	return slices.ContainsFunc(r.Packages, func(p *Package) bool { return p.Status == StatusFail })
}

// attach adds each record to its package. A record may have the name of an external test package,
// with the suffix "_test".
func (c *Collector) attach(records []artifacts.Record) {
	for _, rec := range records {
		path := rec.Result.Package
		if c.packages[path] == nil {
			if inner, ok := strings.CutSuffix(path, "_test"); ok && c.packages[inner] != nil {
				path = inner
			}
		}
		p := c.pkg(path)
		p.Assertions = append(p.Assertions, &Assertion{Result: rec.Result, Dir: rec.Dir})
	}
}

// conclude orders the package's assertions and explains its failures.
func (p *collected) conclude(interrupted bool) {
	cut := !interrupted && p.cut()
	p.Tests = len(p.order)
	began := make(map[string]int, len(p.order))
	for i, test := range p.order {
		began[test] = i
	}
	slices.SortStableFunc(p.Assertions, func(a, b *Assertion) int {
		if c := cmp.Compare(position(began, a.Test), position(began, b.Test)); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.Test, b.Test), cmp.Compare(a.Seq, b.Seq))
	})
	p.Failures, p.Cases = nil, nil
	for _, name := range p.order {
		t := p.tests[name]
		p.Cases = append(p.Cases, Case{Test: name, Status: t.status, ElapsedSeconds: t.elapsed})
	}
	for _, test := range p.order {
		if p.failed(test) {
			p.Failures = append(p.Failures, Failure{Test: test, Kind: p.explain(test), Output: p.tests[test].output.String()})
		}
	}
	p.Crashed = cut || p.Status == StatusFail && !p.finished
	if p.Crashed || p.Status == StatusFail && len(p.Failures) == 0 {
		kind := KindOther
		if !p.Crashed {
			kind = p.explain(testMain)
		}
		p.Failures = append(p.Failures, Failure{Kind: kind, Output: p.packageOutput()})
	}
}

// cut reports whether the test binary ended with status 0 while a test ran. go test takes that for
// a pass, but has no event of the package's end: it puts the running test into that event. cut
// marks that test as one that did not end.
func (p *collected) cut() bool {
	if p.Status != StatusNone || len(p.order) == 0 {
		return false
	}
	if t := p.tests[p.last]; t.status == StatusPass {
		t.status = StatusNone
	}
	return true
}

// packageOutput returns what the test binary printed outside of tests. If the binary did not reach
// its end, the output of tests that failed or did not end precedes that.
func (p *collected) packageOutput() string {
	text := ""
	if p.Crashed {
		for _, name := range p.order {
			if t := p.tests[name]; t.status == StatusNone || t.status == StatusFail {
				text += t.output.String()
			}
		}
	}
	return text + p.output.String()
}

// testMain is the name of the test in records of leakcheck.VerifyTestMain.
const testMain = "TestMain"

// position returns the place of a test in the order in which tests began. A test that never began,
// such as TestMain, comes last.
func position(began map[string]int, test string) int {
	if i, ok := began[test]; ok {
		return i
	}
	return len(began)
}

// explain says why test failed.
func (p *collected) explain(test string) Kind {
	kind := KindOther
	for _, a := range p.Assertions {
		if a.Test != test {
			continue
		}
		switch {
		case a.Misuse:
			return KindMisuse
		case a.Verdict == verdict.Fail:
			kind = KindRegression
		case a.Verdict == verdict.Unknown && kind == KindOther:
			kind = KindUnknown
		}
	}
	if kind == KindOther && p.subtestFailed(test) {
		return KindSubtests
	}
	return kind
}

// add counts p.
func (t *Totals) add(p *collected) {
	t.Packages++
	if p.Status == StatusBuildFailed {
		t.BuildErrors++
	}
	t.Tests += p.Tests
	for _, f := range p.Failures {
		if f.Test != "" {
			t.FailedTests++
		}
		if f.Kind == KindOther {
			t.OtherFailures++
		}
	}
	t.Assertions += len(p.Assertions)
	for _, a := range p.Assertions {
		switch a.Verdict {
		case verdict.Pass:
			t.Pass++
		case verdict.Fail:
			t.Fail++
			if a.Misuse {
				t.Misused++
			}
		case verdict.Unknown:
			t.Unknown++
		}
	}
}
