// Package assertion takes snapshots until an assertion holds, or is known not to.
package assertion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/nativeholders"
	"github.com/leakgate/leakgate/internal/engine/proof"
	"github.com/leakgate/leakgate/internal/nativestack"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/artifact"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/check/bounds"
	"github.com/leakgate/leakgate/leakcheck/internal/check/goldenfile"
	"github.com/leakgate/leakgate/leakcheck/internal/check/goroutines"
	"github.com/leakgate/leakgate/leakcheck/internal/check/resources"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/nativerecord"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// A Checker is the world around assertions: thisProcess, but for the tests of this package.
type Checker struct {
	Observe   func(context.Context, observe.Needs) (*observe.Observation, error)
	Reach     func(context.Context, []*proof.Reach) (within bool, logs []string, err error) // nil: can never tell
	Resources func(test string) (*ledger.Ledger, error)                                     // nil: none are looked at
	Native    func() (*nativeheap.Heap, error)                                              // nil: C's heap is not looked at
	// who holds blocks of it, and which there are; nil: nobody asks
	NativeHolders func(context.Context, func(nativeheap.Block) bool) (*nativeholders.Result, error)
	NativeBlocks  func() ([]nativeheap.Block, error)
	NativeFreed   func(ctx context.Context, keys []string, asObjects bool) (nativeholders.Sum, error) // what goes with what is cut; nil: nobody asks
	// the calls behind it while a batch of calls of op runs twice; nil: nobody asks
	RecordNative func(ctx context.Context, command string, calls, due int, batch func() bool) (*nativestack.Answer, error)
	Environment  func() *environ.Environment
	Sleep        func(time.Duration)
	Now          func() time.Time
	Exit         func(code int)
	Stderr       io.Writer
}

// ThisProcess is a function so that a test binary that calls no assertion does not link the engine.
func ThisProcess() *Checker {
	return &Checker{
		Observe:       observe.NewEngine().Observe,
		Reach:         observe.Reach,
		Resources:     ledger.Take,
		Native:        nativeheap.Take,
		NativeHolders: observe.NativeHolders,
		NativeBlocks:  nativeheap.TakeBlocks,
		NativeFreed:   observe.NativeFreed,
		RecordNative:  nativerecord.Record,
		Environment:   environ.CurrentEnvironment,
		Sleep:         time.Sleep,
		Now:           time.Now,
		Exit:          os.Exit,
		Stderr:        os.Stderr,
	}
}

// The waits between the snapshots of an assertion that does not hold: what is just on its way out,
// such as a goroutine that is about to return, must not fail a test.
var RetryWaits = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond}

// An Assertion is one call of AssertRetained, or the check of VerifyTestMain.
type Assertion struct {
	*Checker
	T    environ.TestingT // nil in VerifyTestMain
	Env  *environ.Environment
	Req  *request.Request
	Test string
	At   environ.Site
	file string // golden file, "" where bounds are given
	Time environ.Budget

	// the golden file, with the last snapshot that could be judged; nil: there are bounds
	compared *goldenfile.Comparison

	readsOnly bool // the golden file is not written

	Logs []string // what took long, over all snapshots
}

// An Outcome is the verdict of an assertion, with its message and the record it leaves.
type Outcome struct {
	Verdict verdict.Verdict
	Failed  bool           // the test fails
	skip    bool           // the test is to be skipped: snapshots do not work on this system
	Method  verdict.Method // how a pass was found; "": in full, if there is an evaluation
	Message string         // of a failure, or of what could not be told
	trace   string         // the same at full length
	Notes   []string       // for the log

	Eval      *check.Evaluation
	Body      func() []string // of the message, where neither bounds nor a golden file are it
	Golden    *goldenfile.Comparison
	Bounds    []verdict.Bound // what broke, where there is no evaluation
	Err       error           // why the verdict is unknown
	Snapshots int
	Before    int64                // live bytes of the baseline
	Misuse    bool                 // the assertion itself is wrong
	Base      observe.Artifacts    // what to compare with; zero without a baseline
	unscanned bool                 // nothing was scanned to judge by, though a scan would show what is wrong
	Scanned   *observe.Observation // for the artifacts, where nothing was scanned to judge by; nil: none
	Native    artifact.Native      // of the calls behind native memory; zero if none were recorded
}

func Misuse(format string, args ...any) *Outcome {
	return &Outcome{Verdict: verdict.Fail, Failed: true, Misuse: true, Message: "leakcheck: " + fmt.Sprintf(format, args...)}
}

// WantsFull reports whether scans are asked for, whatever less would prove: by the option, for all
// assertions, or because what they leave is to be kept of assertions that pass, too.
func (a *Assertion) WantsFull() bool {
	return a.Req.Full || a.Env.Full || a.Env.Every && a.Env.KeepsFiles()
}

// Begin makes an assertion of a test.
func (c *Checker) Begin(t environ.TestingT, at environ.Site, req *request.Request) *Assertion {
	return &Assertion{Checker: c, T: t, Env: c.Environment(), Req: req, Test: environ.TestName(t), At: at, Time: c.Budget(t)}
}

// FailsFromNow returns what reports whether the test has failed since, as far as it tells. Of a
// test that has failed already it cannot tell.
func (a *Assertion) FailsFromNow() (failed func() bool) {
	t, ok := a.T.(environ.Ended)
	if !ok || t.Failed() {
		return func() bool { return false }
	}
	return t.Failed
}

// checks returns what judges the request.
func (a *Assertion) checks(c *goldenfile.Comparison) []check.Check {
	s := request.ScopeOf(a.Req, a.Env)
	var checks []check.Check
	if a.Req.NeedsHeap() {
		checks = append(checks, check.ScopeCheck{Req: a.Req})
	}
	if len(a.Req.Bounds) > 0 {
		checks = append(checks, bounds.NewBoundsCheck(a.Req, s, a.Env))
	}
	if len(a.Req.Goroutines) > 0 {
		checks = append(checks, goroutines.NewGoroutineCheck(a.Req))
	}
	if len(a.Req.Resources) > 0 {
		checks = append(checks, resources.NewCheck(a.Req))
	}
	if !a.Req.Bounded() {
		checks = append(checks, &goldenfile.Check{Req: a.Req, Scope: s, Env: a.Env, File: c})
	}
	return checks
}

// problems says why the request makes no sense, before anything is looked at.
func (a *Assertion) problems(checks []check.Check) []string {
	problems := a.Req.Problems
	for _, c := range checks {
		problems = append(problems, c.Problems(a.Req)...)
	}
	if a.Env.UpdateProblem != "" {
		problems = append(problems, a.Env.UpdateProblem)
	}
	return problems
}

// Judge takes snapshots until one holds, or there have been enough of them.
func (a *Assertion) Judge() *Outcome {
	if problems := a.problems(a.checks(nil)); len(problems) > 0 {
		return Misuse("%s", strings.Join(problems, "\n    "))
	}
	if b := a.Req.Baseline; b != nil && b.Unknown != nil {
		return a.Unknown(fmt.Errorf("there is no baseline: %w", b.Unknown))
	}
	o := &Outcome{}
	if !a.Req.Bounded() {
		c, err := goldenfile.OpenGolden(a.Env, a.file)
		if err != nil {
			return Misuse("%v", err)
		}
		if a.readsOnly {
			c.Write = false
		} else if a.T == nil && a.Env.Partial {
			// some tests were left out, so that less is retained than the file is for
			c.Write = false
			if c.File == nil {
				return &Outcome{Verdict: verdict.Pass, Golden: c, Notes: []string{"there is no " + c.Shown + " yet; run all tests to make it"}}
			}
		}
		if o.Golden = c; !c.Ok() && c.File == nil {
			return a.MissingGolden(c)
		}
	}
	first := ""
	var before *goldenfile.Comparison
	if a.Req.Baseline != nil {
		b := a.Req.Baseline
		o.Base, o.Before = observe.Artifacts{Heap: b.Heap, Report: b.Report}, b.Live
	}
	less := a.proof()
	if less != nil {
		within, err := a.byReach(less)
		types := given(less.types)
		switch {
		case err != nil:
			return a.Unknown(err)
		case !within:
			less = nil
		case len(types) == 0:
			return a.proved(o, less, verdict.ByReach, "")
		}
	}
	checks := a.checks(o.Golden)
	var all observe.Needs
	for _, c := range checks {
		all = all.And(c.Needs())
	}
	if less != nil {
		all.Types = given(less.types)
	}
	native := all.Native
	artifacts := false // of the next snapshot, there is time for all
	for {
		start := a.Now()
		// what does not hold is looked at again, so a failure has one
		all.Collect = o.Snapshots > 0
		all.Profile = a.Env.KeepsFiles() && (a.Env.Every || o.Snapshots > 0)
		all.Native = native || nativeheap.Supported && all.Profile && (a.Env.Every || artifacts)
		e, err := a.observe(all, checks)
		o.Snapshots++
		last := o.Snapshots > len(RetryWaits)
		switch {
		case err != nil && (last || !IsAudit(err)):
			unknown := a.Unknown(err)
			unknown.Eval, unknown.Golden = e, o.Golden
			return unknown
		case err == nil && e == nil:
			return a.proved(o, less, verdict.ByTypes, first)
		case err == nil:
			o.Eval = e
			if e.Ok() && (!a.compared.Writing() || a.compared.Same(before)) || last || len(e.Problems()) > 0 {
				return a.conclude(o, first)
			}
			_, _, broken := e.Broken()
			first = cmp.Or(first, broken)
			all.AlsoHeldBy = message.Places(e)
			before = a.compared
		}
		wait := RetryWaits[o.Snapshots-1]
		took := a.Now().Sub(start)
		if !a.Time.Allows(wait + took + took/2) {
			return a.hurried(o, e, first, err)
		}
		if !a.Time.Allows(wait + (2+2*time.Duration(len(all.AlsoHeldBy)))*took) {
			all.AlsoHeldBy = nil
		}
		artifacts = o.Snapshots == len(RetryWaits) && a.Time.Allows(wait+4*took)
		var pending PendingTimers
		if err == nil && o.Snapshots == len(RetryWaits) {
			pending = pendingTimers(e)
		}
		a.Pause(wait, pending, took+took/2)
	}
}

// hurried is the outcome where there is no time to look again at what does not hold, or cannot be
// told.
func (a *Assertion) hurried(o *Outcome, e *check.Evaluation, first string, err error) *Outcome {
	seen := "the assertion holds, but what is to be written to the golden file was seen once only"
	if err != nil {
		seen = "the last snapshot is not good enough to judge by"
	} else if !e.Ok() {
		_, _, broken := e.Broken()
		seen = fmt.Sprintf("in %s the assertion does not hold, which may be what is just about to end: %s",
			textfmt.CountNoun(int64(o.Snapshots), "snapshot"), cmp.Or(broken, first))
	}
	unknown := a.Unknown(a.Time.Spent(seen, err))
	unknown.Eval, unknown.Golden = e, o.Golden
	return unknown
}

// look takes one snapshot and evaluates it. Beside an audit's error there is an evaluation, for the
// record. There is neither if the snapshot was not scanned, since the types that were asked for are
// within their bounds.
func (a *Assertion) observe(n observe.Needs, checks []check.Check) (*check.Evaluation, error) {
	obs, err := a.ObserveInTime(n)
	if err != nil {
		return nil, err
	}
	a.Logs = append(a.Logs, obs.Logs...)
	obs.Logs = a.Logs
	if obs.Counted {
		return nil, nil
	}
	if obs.Names != nil {
		a.Env.Declared = obs.Names.Declaration
	}
	e := check.Evaluate(obs, a.Req, request.ScopeOf(a.Req, a.Env), checks)
	if err := e.Unknown(); err != nil {
		return nil, err
	}
	if n.Heap {
		err = observe.Audit(obs.Report)
	}
	if err == nil {
		err = e.Doubt()
	}
	if err != nil {
		return e, &AuditError{err}
	}
	for _, c := range checks {
		if g, ok := c.(*goldenfile.Check); ok {
			a.compared = g.Compared
		}
	}
	return e, nil
}

// ObserveInTime takes one snapshot, unless the time is up before the program has settled.
func (a *Assertion) ObserveInTime(n observe.Needs) (*observe.Observation, error) {
	ctx, cancel := a.Time.Context()
	defer cancel()
	obs, err := a.Observe(ctx, n)
	if err == nil && n.Resources {
		err = a.addResources(obs)
	}
	if err != nil && ctx.Err() != nil {
		err = a.Time.Spent("the program had not settled", err)
	}
	return obs, err
}

// An AuditError is worth another snapshot, unlike other reasons for knowing nothing.
type AuditError struct{ Err error }

func (e *AuditError) Error() string { return e.Err.Error() }

func (e *AuditError) Unwrap() error { return e.Err }

func IsAudit(err error) bool {
	var audit *AuditError
	return errors.As(err, &audit)
}

// conclude makes the last evaluation the outcome, and writes the golden file where that is asked
// for.
func (a *Assertion) conclude(o *Outcome, first string) *Outcome {
	e := o.Eval
	o.Golden = a.compared
	o.Notes = append(o.Notes, e.Notes()...)
	o.Verdict = verdict.Pass
	if problems := e.Problems(); len(problems) > 0 {
		o.Verdict, o.Failed, o.Misuse = verdict.Fail, true, true
		o.Message = "leakcheck: " + strings.Join(problems, "\n")
		return o
	}
	if !e.Ok() {
		o.Verdict, o.Failed = verdict.Fail, true
		a.sayNative(e)
		if o.unscanned = e.Names == nil && e.BreaksNative(); o.unscanned && a.Env.KeepsFiles() {
			o.Scanned = a.scanNative()
		}
		return o
	}
	o.note(first)
	if c := o.Golden; c != nil {
		if note := c.Improvements(); note != "" && !c.Write {
			o.Notes = append(o.Notes, note)
		}
		if c.Write {
			a.WriteGolden(o, c)
		}
	}
	return o
}

// WriteGolden writes a golden file, and notes what that changes.
func (a *Assertion) WriteGolden(o *Outcome, c *goldenfile.Comparison) {
	lines, err := c.Save()
	if err != nil {
		o.Verdict, o.Failed, o.Err = verdict.Fail, true, err
		o.Message = fmt.Sprintf("leakcheck: cannot write the golden file: %v", err)
		return
	}
	o.Notes = append(o.Notes, lines...)
}

// MissingGolden is the outcome where there is no golden file, and none is to be made.
func (a *Assertion) MissingGolden(c *goldenfile.Comparison) *Outcome {
	why := "CI is set"
	switch {
	case a.readsOnly:
		why = "Find writes no file"
	case c.Elsewhere != "":
		why = c.Elsewhere
	}
	o := Misuse("there is no golden file %s, and %s, so none is made here; make it and commit it:\n    %s", c.Shown, why, a.UpdateCommand())
	o.Golden, o.Misuse = c, false
	return o
}

// Unknown decides what to do where nothing could be told. On a system without snapshots, the test
// is skipped; else the test fails where green would be taken for an answer (in CI, or with
// LEAKGATE_STRICT), and goes on elsewhere.
func (a *Assertion) Unknown(err error) *Outcome {
	o := &Outcome{Verdict: verdict.Unknown, Err: err}
	if errors.Is(err, errors.ErrUnsupported) && !a.Env.Strict {
		o.skip = true
	} else {
		o.Failed = a.Env.Strict || a.Env.Ci
	}
	o.Message = UnknownMessage(err, o.Failed, "what is retained")
	return o
}

// UnknownMessage says that something could not be told, and why.
func UnknownMessage(err error, failed bool, what string) string {
	cause, remedy := causeAndRemedy(err)
	lines := []string{"leakcheck: UNKNOWN: could not tell " + what, "    cause:  " + cause}
	if remedy != "" {
		lines = append(lines, "    remedy: "+remedy)
	}
	if !failed {
		where := "in CI, and with LEAKGATE_STRICT=1"
		if errors.Is(err, errors.ErrUnsupported) {
			where = "with LEAKGATE_STRICT=1, as in leakgate run"
		}
		lines = append(lines, "    This is not a pass: nothing was checked. It fails "+where+".")
	}
	return strings.Join(lines, "\n")
}

func causeAndRemedy(err error) (cause, remedy string) {
	var u *refscan.UnavailableError
	if !errors.As(err, &u) {
		return err.Error(), ""
	}
	cause = u.Cause
	if u.Err != nil {
		cause += ": " + u.Err.Error()
	}
	return cause, u.Remedy
}
