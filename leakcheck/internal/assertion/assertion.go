// Package assertion takes snapshots until an assertion holds, or is known not to.
package assertion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/artifact"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// A Checker has the operations that assertions call: those of ThisProcess, or substitutes in the
// tests of this package.
type Checker struct {
	Observe func(context.Context, observe.Needs) (*observe.Observation, error)
	Prove   func(context.Context, proof.Claims) (within bool, logs []string, err error) // nil: every assertion takes a snapshot
	// variables on the stack that have ended, see proof.EndedVariables; nil: none is looked for
	Ended     func(stack []uintptr, is func(reference string) bool) []proof.Ended
	Resources func(test string) (*ledger.Ledger, error) // nil: resources are not listed
	Native    native.Memory
	// RunAlone runs the test in a process of its own, and returns the outcome of the assertion
	// there; nil: what other tests leave counts
	RunAlone func(*Assertion) (*Outcome, error)
	System
}

// A System has what assertions know of the process and its clock.
type System struct {
	Environment func() *environ.Environment
	Sleep       func(time.Duration)
	Now         func() time.Time
	Exit        func(code int)
	Stderr      io.Writer
}

// ThisProcess returns the Checker of this process. It is a function, so that a test binary that
// calls no assertion does not link the engine.
func ThisProcess() *Checker {
	return &Checker{
		Observe:   observe.NewEngine().Observe,
		Prove:     observe.Prove,
		Ended:     observe.Ended,
		Resources: ledger.Take,
		RunAlone:  (*Assertion).runAlone,
		Native:    native.Memory{Take: native.Take, Blocks: native.TakeBlocks, Holders: observe.NativeHolders, Freed: observe.NativeFreed, Record: native.Record},
		System:    System{environ.CurrentEnvironment, realtime.SleepBoth, realtime.Now, os.Exit, os.Stderr},
	}
}

// About returns the Checker of the process that a request is about.
func About(p request.Process) *Checker {
	c := ThisProcess()
	if p == nil {
		return c
	}
	c.Observe, c.Resources, c.Native = p.Observe, p.Resources, native.Memory{Take: p.Malloc}
	c.Prove, c.Ended, c.RunAlone = nil, nil, nil
	c.Environment = func() *environ.Environment {
		e := environ.CurrentEnvironment()
		if err := p.Open(context.Background()); err == nil { // else no snapshot can be taken, which says why
			e.Modules, e.Service = p.Modules(), true
			e.ModulePath = e.Modules.Main()
		}
		e.AllAllocations = false
		return e
	}
	return c
}

// RetryWaits are the waits between the snapshots of an assertion that does not hold. Objects that
// are about to be released, such as those of a goroutine that is about to return, must not fail a
// test.
var RetryWaits = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond}

// An Assertion is one call of AssertRetained, or the check of VerifyTestMain.
type Assertion struct {
	*Checker
	T    environ.TestingT // nil in VerifyTestMain
	Env  *environ.Environment
	Req  *request.Request
	Test string
	At   environ.Site
	file string // name of the golden file, "" if the request has bounds
	Time environ.Budget

	readsOnly bool // the golden file is not written
	Alone     bool // other tests that run at the same time change nothing

	Logs []string // notes on slow steps, over all snapshots
}

// An Outcome is the verdict of an assertion, with its message and the record it leaves.
type Outcome struct {
	Verdict     verdict.Verdict
	Misuse      bool           // the assertion itself is wrong
	Err         error          // why the verdict is unknown
	Method      verdict.Method // what proved a pass; "": a scan, if Eval is set
	failsAnyway bool           // though nothing is known to be wrong: the verdict or the record is missing
	kept        bool           // another process has written the artifacts and completed the message

	Message string          // of a failure, or of an unknown verdict
	Body    func() []string // renders the message, instead of the bounds or the golden file
	Share   string          // which part of the broken bounds this test has; "" if that is not known, or all
	broken  string          // what is broken first, in the process of its own that the outcome is of
	Notes   []string        // for the log

	Eval      *check.Evaluation
	Golden    *check.Comparison
	Bounds    []verdict.Bound // bounds for the record, beside those of Eval
	Snapshots int
	Base      *request.Baseline    // what Eval is compared with; nil: nothing
	Scanned   *observe.Observation // a scan for the artifacts alone, if Eval is of none; nil: none
	Native    artifact.Native      // profiles of the C calls behind native memory; zero if none were recorded
}

// Failed reports whether the test fails.
func (o *Outcome) Failed() bool { return o.Verdict == verdict.Fail || o.failsAnyway }

func Misuse(format string, args ...any) *Outcome {
	return &Outcome{Verdict: verdict.Fail, Misuse: true, Message: "leakcheck: " + fmt.Sprintf(format, args...)}
}

// WantsFull reports whether every snapshot has to be scanned, even if a cheaper proof would do.
// That is so if the option or LEAKGATE_FULL asks for it, or if the artifacts of assertions that
// pass are to be kept, too.
func (a *Assertion) WantsFull() bool {
	return a.Req.Full || a.Env.Full || a.Env.Every && a.Env.KeepsFiles()
}

// Begin makes an assertion of a test.
func (c *Checker) Begin(t environ.TestingT, at environ.Site, req *request.Request) *Assertion {
	return &Assertion{Checker: c, T: t, Env: c.Environment(), Req: req, Test: environ.TestName(t), At: at, Time: c.Budget(t)}
}

// FailsFromNow returns a function that reports whether the test has failed since this call. The
// function always returns false if the test has failed already, or cannot tell whether it has.
func (a *Assertion) FailsFromNow() (failed func() bool) {
	t, ok := a.T.(environ.Ended)
	if !ok || t.Failed() {
		return func() bool { return false }
	}
	return t.Failed
}

// checks returns the checks of the request. c is the golden file, if the request has no bounds.
func (a *Assertion) checks(c *check.Comparison) []check.Check {
	s := request.ScopeOf(a.Req, a.Env)
	var checks []check.Check
	if a.Req.NeedsHeap() {
		checks = append(checks, check.ScopeCheck{Req: a.Req})
	}
	if len(a.Req.Bounds) > 0 {
		checks = append(checks, check.NewBoundsCheck(a.Req, s, a.Env))
	}
	if len(a.Req.Goroutines) > 0 {
		checks = append(checks, check.NewGoroutineCheck(a.Req))
	}
	if len(a.Req.Resources) > 0 {
		checks = append(checks, check.NewResourceCheck(a.Req))
	}
	if !a.Req.Bounded() {
		checks = append(checks, &check.GoldenCheck{Req: a.Req, Scope: s, Env: a.Env, File: c})
	}
	return checks
}

// problems returns what makes no sense in the request, before any snapshot is taken.
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

// observe takes one snapshot and evaluates it. If the audit fails, it returns the evaluation, for
// the record, beside the error.
func (a *Assertion) observe(n observe.Needs, checks []check.Check) (*check.Evaluation, error) {
	obs, err := a.ObserveInTime(n)
	if err != nil {
		return nil, err
	}
	a.Logs = append(a.Logs, obs.Logs...)
	obs.Logs = a.Logs
	e := check.Evaluate(obs, a.Req, request.ScopeOf(a.Req, a.Env), checks)
	if e.Unknown != nil {
		return nil, e.Unknown
	}
	if n.Heap {
		err = observe.Audit(obs.Report)
	}
	if err == nil {
		err = e.Doubt
	}
	if err != nil {
		return e, &AuditError{err}
	}
	return e, nil
}

// ObserveInTime takes one snapshot and scans it, unless the time is up before.
func (a *Assertion) ObserveInTime(n observe.Needs) (*observe.Observation, error) {
	ctx, cancel := a.Time.Context()
	defer cancel()
	obs, err := a.Observe(ctx, n)
	if err == nil && obs.Names != nil {
		a.Env.Declared = obs.Names.Declaration
	}
	if err == nil && n.Resources {
		err = a.addResources(obs)
	}
	if err != nil && ctx.Err() != nil {
		err = a.Time.Spent("the program had not settled, or the scan had not ended", err)
	}
	return obs, err
}

// An AuditError says that a snapshot is not good enough to judge by. Another snapshot may be; after
// other errors another one does not help.
type AuditError struct{ Err error }

func (e *AuditError) Error() string { return e.Err.Error() }

func (e *AuditError) Unwrap() error { return e.Err }

func IsAudit(err error) bool {
	var audit *AuditError
	return errors.As(err, &audit)
}

// WriteGolden writes a golden file, and notes the changes. go test shows the log of no test that
// passes, so they go to standard error, too, unless leakgate run names them at its end.
func (a *Assertion) WriteGolden(o *Outcome, c *check.Comparison) {
	lines, err := c.Save()
	if err != nil {
		o.Verdict, o.Err = verdict.Fail, err
		o.Message = fmt.Sprintf("leakcheck: cannot write the golden file: %v", err)
		return
	}
	a.announce(lines)
	o.Notes = append(o.Notes, lines...)
}

// announce prints what was written.
func (a *Assertion) announce(lines []string) {
	if len(lines) > 0 && a.T != nil && a.Stderr != nil && !a.Env.Verbose && a.Env.Artifacts == "" {
		fmt.Fprintf(a.Stderr, "leakcheck: %s: %s\n", a.Test, strings.Join(lines, "\n"))
	}
}

// MissingGolden is the outcome where there is no golden file, and none is to be made.
func (a *Assertion) MissingGolden(c *check.Comparison) *Outcome {
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

// WithoutGolden is the outcome where err keeps the golden file from being read: a mistake of the
// test, unless the system lacks what reading any file takes.
func (a *Assertion) WithoutGolden(err error) *Outcome {
	if way := remedy.ForFile(err); way != "" {
		return a.Unknown(&refscan.UnavailableError{Cause: "the golden file cannot be read", Remedy: way, Err: err})
	}
	return Misuse("%v", err)
}

// Unknown is the outcome of an assertion that err keeps from a verdict. On a system without
// snapshots the test is skipped. Otherwise the test fails where green would be taken for a pass (in
// CI, or with LEAKGATE_STRICT), and goes on elsewhere.
func (a *Assertion) Unknown(err error) *Outcome {
	red := a.Env.Strict || a.Env.Ci && !isUnsupported(err)
	return &Outcome{Verdict: verdict.Unknown, Err: err, failsAnyway: red, Message: UnknownMessage(err, red, "what is retained")}
}

// isUnsupported reports whether err says that nothing can be told on this system. The number of a
// system call's error may be errors.ErrUnsupported, too: ENOSYS, by which sandboxes and old kernels
// refuse calls.
func isUnsupported(err error) bool {
	var errno syscall.Errno
	return errors.Is(err, errors.ErrUnsupported) && !errors.As(err, &errno)
}

// UnknownMessage returns the message that something could not be told, and why. what is the
// subject.
func UnknownMessage(err error, failed bool, what string) string {
	cause, way := causeAndRemedy(err)
	lines := []string{"leakcheck: UNKNOWN: could not tell " + what, "    cause:  " + cause}
	if way != "" {
		lines = append(lines, "    remedy: "+way)
	}
	if !failed {
		where := "in CI, and with LEAKGATE_STRICT=1"
		if isUnsupported(err) {
			where = "with LEAKGATE_STRICT=1, as in leakgate run"
		}
		lines = append(lines, "    This is not a pass: nothing was checked. It fails "+where+".")
	}
	return strings.Join(lines, "\n")
}

func causeAndRemedy(err error) (cause, way string) {
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
