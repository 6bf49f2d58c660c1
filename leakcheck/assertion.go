package leakcheck

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/fmterr"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// A checker is the world around assertions: thisProcess, but for the tests of this package.
type checker struct {
	observe     func(heap bool, also func(*refscan.Snapshot) error) (*observation, error)
	environment func() *environment
	sleep       func(time.Duration)
	exit        func(code int)
	stderr      io.Writer
}

// thisProcess is a function so that a test binary that calls no assertion does not link the engine.
func thisProcess() *checker {
	return &checker{
		observe:     observeProcess,
		environment: currentEnvironment,
		sleep:       time.Sleep,
		exit:        os.Exit,
		stderr:      os.Stderr,
	}
}

// The waits between the snapshots of an assertion that does not hold: what is just on its way out, such
// as a goroutine that is about to return, must not fail a test.
var retryWaits = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond}

// A site is a place in a test's source.
type site struct {
	file string
	line int
}

func callSite(skip int) site {
	_, file, line, _ := runtime.Caller(skip + 1)
	return site{file, line}
}

// An assertion is one call of AssertRetained, or the check of VerifyTestMain.
type assertion struct {
	*checker
	t    TestingT // nil in VerifyTestMain
	env  *environment
	req  *request
	test string
	at   site
	file string // golden file, "" where bounds are given

	logs []string // what took long, over all snapshots
}

// An outcome is what an assertion came to.
type outcome struct {
	verdict verdict.Verdict
	failed  bool     // the test fails
	skip    bool     // the test is to be skipped: snapshots do not work on this system
	message string   // of a failure, or of what could not be told
	trace   string   // the same at full length
	notes   []string // for the log

	eval      *evaluation
	body      func() []string // of the message, where neither bounds nor a golden file are it
	golden    *comparison
	bounds    []verdict.Bound // what broke, where there is no evaluation
	err       error           // why the verdict is unknown
	snapshots int
	before    int64  // live bytes of the baseline
	misuse    bool   // the assertion itself is wrong
	base      string // the heap profile to compare with, "" for that of the process's start
}

func misuse(format string, args ...any) *outcome {
	return &outcome{verdict: verdict.Fail, failed: true, misuse: true, message: "leakcheck: " + fmt.Sprintf(format, args...)}
}

// judge takes snapshots until one holds, or there have been enough of them.
func (a *assertion) judge() *outcome {
	problems := a.req.problems
	if a.env.updateProblem != "" {
		problems = append(problems, a.env.updateProblem)
	}
	if len(problems) > 0 {
		return misuse("%s", strings.Join(problems, "\n    "))
	}
	if b := a.req.baseline; b != nil && b.unknown != nil {
		return a.unknown(fmterr.Errorf("there is no baseline: %w", b.unknown))
	}
	o := &outcome{}
	if !a.req.bounded() {
		c, err := openGolden(a.env, a.file)
		if err != nil {
			return misuse("%v", err)
		}
		if a.t == nil && a.env.partial {
			c.write = false // some tests were left out, so that less is retained than the file is for
			if c.file == nil {
				return &outcome{verdict: verdict.Pass, golden: c, notes: []string{"there is no " + c.shown + " yet; run all tests to make it"}}
			}
		}
		if o.golden = c; !c.ok() && c.file == nil {
			return a.missingGolden(c)
		}
	}
	first := ""
	var before *evaluation
	if a.req.baseline != nil {
		o.base, o.before = a.req.baseline.heap, a.req.baseline.live
	}
	for {
		e, err := a.look(o.golden, a.env.keepsFiles() && (a.env.every || o.snapshots > 0))
		o.snapshots++
		last := o.snapshots > len(retryWaits)
		switch {
		case err != nil && (last || !isAudit(err)):
			unknown := a.unknown(err)
			unknown.eval, unknown.golden = e, o.golden
			return unknown
		case err == nil:
			o.eval = e
			if e.ok() && (!a.writing(e) || before != nil && before.equal(e)) || last || len(e.problems) > 0 {
				return a.conclude(o, first)
			}
			if first == "" && !e.ok() {
				first = e.headline()
			}
			if h := a.req.holders; h != nil {
				h.expectOf(e)
			}
			before = e
		}
		a.sleep(retryWaits[o.snapshots-1])
	}
}

// look takes one snapshot and evaluates it. Beside an audit's error there is an evaluation, for the
// record. heap asks for the heap profile: what does not hold is looked at again, so a failure has one.
func (a *assertion) look(c *comparison, heap bool) (*evaluation, error) {
	var sight *goroutineSight
	var also func(*refscan.Snapshot) error
	if g := a.req.goroutines; g != nil {
		also = func(s *refscan.Snapshot) (err error) {
			sight, err = g.look(s, a.req)
			return err
		}
	}
	if c := a.req.cuts; c != nil {
		also = c.scan(a, also)
	}
	if h := a.req.holders; h != nil {
		also = h.after(also)
	}
	if !a.req.needsHeap() {
		if err := also(nil); err != nil {
			return nil, err
		}
		e := &evaluation{obs: &observation{report: sight.report}}
		e.add(sight)
		return e, nil
	}
	obs, err := a.observe(heap, also)
	if err == nil {
		a.env.declared = obs.names.Declaration
	}
	if err != nil {
		return nil, err
	}
	if c := a.req.cuts; c != nil {
		obs.report = c.report
	}
	a.logs = append(a.logs, obs.logs...)
	obs.logs = a.logs
	if err := a.req.named(obs.report); err != nil {
		return nil, err
	}
	e := evaluate(obs, a.req, scopeOf(a.req, a.env), a.env)
	e.add(sight)
	err = audit(obs.report)
	if err == nil {
		err = e.doubt()
	}
	if err != nil {
		return e, &auditError{err}
	}
	if c != nil {
		look := *c
		look.compare(e, a.env.modulePath)
		e.golden = &look
	}
	return e, nil
}

// An auditError is worth another snapshot, unlike other reasons for knowing nothing.
type auditError struct{ error }

func (e *auditError) Unwrap() error { return e.error }

func isAudit(err error) bool {
	_, ok := errors.AsType[*auditError](err)
	return ok
}

// writing reports whether the golden file is about to be written: what is written must have been seen
// twice.
func (a *assertion) writing(e *evaluation) bool {
	return e.golden != nil && e.golden.write && e.golden.changed()
}

func (e *evaluation) equal(other *evaluation) bool {
	if e.golden == nil || other.golden == nil {
		return false
	}
	return string(golden.New(e.golden.measured).Bytes()) == string(golden.New(other.golden.measured).Bytes())
}

// conclude makes the last evaluation the outcome, and writes the golden file where that is asked for.
func (a *assertion) conclude(o *outcome, first string) *outcome {
	e := o.eval
	o.golden = e.golden
	o.notes = append(o.notes, e.notes...)
	o.verdict = verdict.Pass
	if len(e.problems) > 0 {
		o.verdict, o.failed, o.misuse = verdict.Fail, true, true
		o.message = "leakcheck: " + strings.Join(e.problems, "\n")
		return o
	}
	if !e.ok() {
		o.verdict, o.failed = verdict.Fail, true
		return o
	}
	if first != "" {
		o.notes = append(o.notes, fmt.Sprintf("holds in snapshot %d; not so at first: %s", o.snapshots, first))
	}
	if c := o.golden; c != nil {
		if note := c.improvements(); note != "" && !c.write {
			o.notes = append(o.notes, note)
		}
		if c.write {
			a.writeGolden(o, c)
		}
	}
	return o
}

func (a *assertion) writeGolden(o *outcome, c *comparison) {
	lines, err := c.save()
	if err != nil {
		o.verdict, o.failed, o.err = verdict.Fail, true, err
		o.message = fmt.Sprintf("leakcheck: cannot write the golden file: %v", err)
		return
	}
	o.notes = append(o.notes, lines...)
}

func (a *assertion) missingGolden(c *comparison) *outcome {
	o := misuse("there is no golden file %s, and CI is set, so none is made here; make it and commit it:\n    %s", c.shown, a.updateCommand())
	o.golden, o.misuse = c, false
	return o
}

// unknown decides what to do where nothing could be told. On a system without snapshots, the test is
// skipped; else the test fails where green would be taken for an answer (in CI, or with
// LEAKCHECK_STRICT), and goes on elsewhere.
func (a *assertion) unknown(err error) *outcome {
	o := &outcome{verdict: verdict.Unknown, err: err}
	if errors.Is(err, errors.ErrUnsupported) && !a.env.strict {
		o.skip = true
	} else {
		o.failed = a.env.strict || a.env.ci
	}
	o.message = unknownMessage(err, o.failed)
	return o
}

func unknownMessage(err error, failed bool) string {
	cause, remedy := causeAndRemedy(err)
	lines := []string{"leakcheck: UNKNOWN: could not tell what is retained", "    cause:  " + cause}
	if remedy != "" {
		lines = append(lines, "    remedy: "+remedy)
	}
	if !failed {
		lines = append(lines, "    This is not a pass: nothing was checked. It fails in CI, and with LEAKCHECK_STRICT=1.")
	}
	return strings.Join(lines, "\n")
}

func causeAndRemedy(err error) (cause, remedy string) {
	u, ok := errors.AsType[*refscan.UnavailableError](err)
	if !ok {
		return err.Error(), ""
	}
	cause = u.Cause
	if u.Err != nil {
		cause += ": " + u.Err.Error()
	}
	return cause, u.Remedy
}
