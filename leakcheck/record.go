package leakcheck

import (
	"errors"
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/verdict"
)

// keep leaves the artifacts of an outcome and completes its message with where they are.
func (a *assertion) keep(o *outcome) {
	folder, err := newArtifactFolder(a.env, a.t, a.test, o.failed)
	o.trace = o.message
	if o.failed && o.message == "" {
		lines := a.failureMessage(o, folder.fullDir())
		o.message, o.trace = strings.Join(limitLines(lines), "\n"), strings.Join(lines, "\n")
	}
	if err == nil && folder.dir != "" {
		err = a.fill(folder, o)
	}
	if err != nil {
		// Artifacts that LEAKGATE_ARTIFACTS asks for are the leakgate command's only way to know.
		o.notes = append(o.notes, err.Error())
		if a.env.artifacts != "" && !o.failed {
			o.failed, o.message = true, "leakcheck: "+err.Error()
		}
	}
}

func (a *assertion) fill(folder *artifactFolder, o *outcome) error {
	var errs []error
	if folder.full {
		errs = append(errs, folder.saveFiles(o))
	}
	if c := o.golden; c != nil && c.updated != nil && (c.measureOnly || c.changed() && o.failed) {
		errs = append(errs, folder.saveText(goldenArtifact, string(c.updated.Bytes())))
		if c.write && o.err != nil && o.verdict == verdict.Fail {
			o.message += fmt.Sprintf("\n    what it would be is in %s", folder.dir+"/"+goldenArtifact)
		}
	}
	return errors.Join(append(errs, folder.saveResult(a.result(o)))...)
}

// result is the record of an outcome.
func (a *assertion) result(o *outcome) *verdict.Result {
	r := &verdict.Result{
		Schema: verdict.Schema, Package: a.env.packagePath, Test: a.test, Verdict: o.verdict,
		File: a.env.shortFile(a.at.file), Line: a.at.line, Message: o.message, Misuse: o.misuse,
	}
	if o.verdict == verdict.Unknown {
		r.Cause, r.Remedy = causeAndRemedy(o.err)
	}
	if c := o.golden; c != nil {
		r.Golden = &verdict.Golden{File: c.shown, Status: c.status, Diff: c.diff, Tighter: c.tighter()}
	}
	r.Bounds = o.bounds
	if o.eval == nil {
		return r
	}
	if c := o.eval.golden; c != nil && !c.ok() {
		failures := c.failures()
		for _, d := range failures[:min(len(failures), verdict.MaxBroken)] {
			r.Golden.Broken = append(r.Golden.Broken, a.lineRecord(d, o.eval.forest))
		}
	}
	obs := o.eval.obs
	r.Totals, r.LiveBefore = obs.report.Totals, o.before
	held := o.eval.forest.total()
	r.RetainedObjects, r.RetainedBytes = held.objects, held.bytes
	r.SettleNS = obs.settle.Nanoseconds()
	r.PauseNS = obs.report.Pause.Nanoseconds()
	r.ScanNS = obs.scan.Nanoseconds()
	for i := range o.eval.findings {
		f := &o.eval.findings[i]
		r.Bounds = append(r.Bounds, a.boundRecord(f, o.verdict))
		if f.cut != nil {
			f.cut.record(r)
		}
	}
	if g := o.eval.goroutines; g != nil {
		for _, f := range g.findings {
			f.record.Verdict = boundVerdict(f.broken, o.verdict)
			f.record.File = a.env.shortFile(f.record.File)
			r.Bounds = append(r.Bounds, f.record)
		}
	}
	return r
}

func (a *assertion) boundRecord(f *finding, v verdict.Verdict) verdict.Bound {
	b := verdict.Bound{
		Selector: f.bound.selector.shown, MaxObjects: f.bound.maxObjects, MaxBytes: f.bound.maxBytes,
		Objects: f.found.objects, Bytes: f.found.bytes, Verdict: boundVerdict(f.broken, v),
	}
	if len(f.culprits) == 0 {
		return b
	}
	top := f.culprits[0]
	t := f.trace()
	most := t.last()
	b.Path, b.Type = most.path, most.typ
	a.locate(&b, top)
	return b
}

func boundVerdict(broken bool, v verdict.Verdict) verdict.Verdict {
	switch {
	case v == verdict.Unknown:
		return verdict.Unknown
	case broken:
		return verdict.Fail
	}
	return verdict.Pass
}

// lineRecord is the record of a line of a golden file that does not hold, or of a path without a line.
func (a *assertion) lineRecord(d golden.Difference, f forest) verdict.Bound {
	b := verdict.Bound{
		Selector: "golden " + d.Entry.Path, Objects: d.Objects, Bytes: d.Bytes, Verdict: verdict.Fail,
		Path: d.Entry.Path, Type: d.Entry.Type,
	}
	objects, bytes := d.Objects-d.ObjectsOver, d.Bytes-d.BytesOver
	if d.ObjectsOver > 0 || d.Kind == golden.Unlisted {
		b.MaxObjects = &objects
	}
	if d.BytesOver > 0 {
		b.MaxBytes = &bytes
	}
	if culprits := f.covered(d.Covered); len(culprits) > 0 {
		a.locate(&b, culprits[0])
	}
	return b
}

// locate sets where the root of a culprit is declared.
func (a *assertion) locate(b *verdict.Bound, culprit *branch) {
	if declared := a.env.declaration(culprit.line()[0]); declared.file != "" {
		b.File, b.Line = a.env.shortFile(declared.file), declared.line
	}
}

// report hands the outcome to the test, and returns whether the test did not fail.
func (o *outcome) report(t TestingT) bool {
	t.Helper()
	if len(o.notes) > 0 {
		t.Logf("leakcheck: %s", strings.Join(o.notes, "\n"))
	}
	switch {
	case o.failed:
		t.Errorf("%s", o.message)
	case o.skip:
		if s, ok := t.(skipper); ok {
			s.Skipf("%s", o.message)
		}
		t.Logf("%s", o.message)
	case o.message != "":
		t.Logf("%s", o.message)
	}
	return !o.failed
}
