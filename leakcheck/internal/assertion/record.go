package assertion

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/artifact"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// Keep writes the artifacts of an outcome, and completes its message with their place.
func (a *Assertion) Keep(o *Outcome) {
	if o.kept || a.Env.Alone != "" && a.file == "" {
		return
	}
	folder, err := artifact.NewFolder(a.Env, a.T, a.Test, o.Failed())
	trace := o.Message
	if m := o.method(); m != "" && a.Env.Verbose {
		o.Notes = append(o.Notes, "passed "+string(m))
	}
	if o.Failed() && o.Message == "" {
		lines := a.render(o, folder.FullDir())
		o.Message, trace = strings.Join(message.LimitLines(lines), "\n"), strings.Join(lines, "\n")
	}
	if o.Verdict == verdict.Fail && !o.Misuse {
		if text := a.beside(); text != "" {
			o.Message, trace = o.Message+"\n"+text, trace+"\n"+text
		}
	}
	if err == nil && folder.Dir != "" {
		err = a.fill(folder, o, trace)
	}
	if err != nil {
		// The leakgate command learns of an assertion only from the artifacts below
		// LEAKGATE_ARTIFACTS.
		o.Notes = append(o.Notes, err.Error())
		if a.Env.Artifacts != "" && !o.Failed() {
			o.failsAnyway, o.Message = true, "leakcheck: "+err.Error()
		}
	}
}

// render returns the message of a failed assertion, in lines. dir is the folder of the artifacts,
// or "".
func (a *Assertion) render(o *Outcome, dir string) []string {
	in := message.Input{Eval: o.Eval, Golden: o.Golden, Share: o.Share, Snapshots: o.Snapshots, Update: a.UpdateCommand(), CanHave: a.T != nil && a.Env.Artifacts == "", Scanned: o.Scanned != nil || dir == "" && o.Eval.Unscanned()}
	if o.Body != nil {
		in.Body = o.Body()
	}
	if dir != "" {
		in.Profile = filepath.Join(dir, artifact.RetainedFile)
	}
	lines := message.Render(in, a.Env)
	if dir != "" && o.Native.Last != "" {
		lines = append(lines, fmt.Sprintf("calls of C code: go tool pprof -http=: -diff_base=%[1]s/"+artifact.NativeBaseFile+" %[1]s/"+artifact.NativeFile, dir))
	}
	return lines
}

func (a *Assertion) fill(folder *artifact.Folder, o *Outcome, trace string) error {
	var errs []error
	if folder.Full {
		files := artifact.Contents{Trace: trace, Native: o.Native}
		if o.Base != nil {
			files.Base = o.Base.Artifacts
		}
		if o.Eval != nil {
			files.Obs = cmp.Or(o.Scanned, o.Eval.Observation)
		}
		errs = append(errs, folder.SaveFiles(files))
	}
	if c := o.Golden; c != nil && c.Updated != nil && (c.MeasureOnly || c.Changed() && o.Failed()) {
		errs = append(errs, folder.SaveText(artifact.GoldenArtifact, string(c.Updated.Bytes())))
		if c.Write && o.Err != nil && o.Verdict == verdict.Fail {
			o.Message += fmt.Sprintf("\n    what it would be is in %s", folder.Dir+"/"+artifact.GoldenArtifact)
		}
	}
	return errors.Join(append(errs, folder.SaveResult(a.result(o)))...)
}

// result is the record of an outcome.
func (a *Assertion) result(o *Outcome) *verdict.Result {
	r := &verdict.Result{
		Schema: verdict.Schema, Library: verdict.Library(), Package: a.Env.PackagePath, Test: a.Test, Verdict: o.Verdict,
		File: a.Env.ShortFile(a.At.File), Line: a.At.Line, Message: o.Message, Misuse: o.Misuse, Modules: a.Env.Modules.Ambiguous(),
	}
	r.Method = o.method()
	if o.Verdict == verdict.Unknown {
		r.Cause, r.Remedy = causeAndRemedy(o.Err)
	}
	if c := o.Golden; c != nil {
		r.Golden = &verdict.Golden{File: c.Shown, Status: c.Status, Diff: c.Diff, Tighter: c.Tighter()}
	}
	r.Bounds = o.Bounds
	if o.Eval == nil {
		return r
	}
	obs := o.Eval.Observation
	r.Totals = verdict.Totals(obs.Report.Totals)
	if o.Base != nil {
		r.LiveBefore = o.Base.Live
	}
	held := o.Eval.Forest.Total()
	r.RetainedObjects, r.RetainedBytes = held.Objects, held.Bytes
	r.SettleNS = obs.Settle.Nanoseconds()
	r.PauseNS = obs.Report.Pause.Nanoseconds()
	r.ScanNS = obs.Scan.Nanoseconds()
	for i := range o.Eval.Findings {
		f := &o.Eval.Findings[i]
		switch {
		case f.Line != nil && o.Verdict != verdict.Unknown && len(r.Golden.Broken) < verdict.MaxBroken:
			r.Golden.Broken = append(r.Golden.Broken, a.BoundRecord(f, o.Verdict, obs))
		case f.Line == nil:
			r.Bounds = append(r.Bounds, a.BoundRecord(f, o.Verdict, obs))
		}
	}
	return r
}

// method returns what proved a pass, "" if the assertion did not pass, or needed neither a scan nor
// a proof.
func (o *Outcome) method() verdict.Method {
	switch {
	case o.Verdict != verdict.Pass:
		return ""
	case o.Method == "" && o.Eval != nil:
		return verdict.InFull
	}
	return o.Method
}

// BoundRecord completes the record of a finding with its verdict, its place and what holds it.
func (a *Assertion) BoundRecord(f *check.Finding, v verdict.Verdict, seen *observe.Observation) verdict.Bound {
	b := f.Record
	b.Verdict = boundVerdict(f.Broken, v)
	b.File = a.Env.ShortFile(b.File)
	if len(f.Culprits) == 0 {
		return b
	}
	if b.Path == "" {
		most := f.Trace().Last()
		b.Path, b.Type = most.Path, most.Typ
	}
	a.Locate(&b, f.Culprits[0])
	if b.Verdict == verdict.Fail {
		t := f.Trace()
		b.HeldBy = append(message.HeldBy(f.Culprits[0], a.Env), message.UsualCause(t, a.Env)...)
		b.Chain = message.Chain(t)
		b.AlsoHeldBy = message.AlsoHeldBy(t, seen, a.Env)
	}
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

// Locate sets where the root of a culprit is declared.
func (a *Assertion) Locate(b *verdict.Bound, culprit *tree.Branch) {
	if declared := message.Declaration(a.Env, culprit.Line()[0]); declared.File != "" {
		b.File, b.Line = a.Env.ShortFile(declared.File), declared.Line
	}
}

// Report hands the outcome to the test, and returns whether the test did not fail.
func (o *Outcome) Report(t environ.TestingT) bool {
	t.Helper()
	if len(o.Notes) > 0 {
		t.Logf("leakcheck: %s", strings.Join(o.Notes, "\n"))
	}
	switch {
	case o.Failed():
		t.Errorf("%s", o.Message)
	case isUnsupported(o.Err):
		if s, ok := t.(environ.Skipper); ok {
			s.Skipf("%s", o.Message)
		}
		t.Logf("%s", o.Message)
	case o.Message != "":
		t.Logf("%s", o.Message)
	}
	return !o.Failed()
}

// UpdateCommand is the command that rewrites the golden file of this test, on any system's shell.
func (a *Assertion) UpdateCommand() string {
	pkg := a.Env.PackagePath
	if pkg == "" || strings.HasPrefix(pkg, "command-line-arguments") {
		pkg = "."
	}
	if a.T == nil {
		return fmt.Sprintf("go test %s -leakcheck.update", pkg)
	}
	which := "-run"
	if strings.HasPrefix(a.Test, "Benchmark") { // as package testing wants their names to begin
		which = "-run '^$' -bench"
	}
	return fmt.Sprintf("go test %s %s '%s' -leakcheck.update", pkg, which, patternOf(a.Test))
}
