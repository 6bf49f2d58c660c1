package growth

import (
	"errors"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// snapshot takes a snapshot, and another one if it does not agree with the collector. more is what
// it finds out besides what each snapshot of an experiment does.
func (x *Experiment) snapshot(more observe.Needs) error {
	scopes := check.ScopeCheck{Req: x.Req, Goroutines: true}
	last := *x.Req
	for _, pattern := range x.Env.Suppressed {
		last.Ignore(pattern, "suppressed")
	}
	order := request.OrderOf(&last, tree.Scope{Packages: x.Req.Scope})
	order.PackagesFirst, order.TestsLast = false, false
	needs := scopes.Needs().And(observe.Needs{Order: order, Heap: true, Profile: x.Env.KeepsFiles()}).And(more)
	for try := 0; ; try++ {
		start := x.Now()
		obs, err := x.ObserveInTime(needs)
		if err == nil {
			err = x.evaluate(obs, scopes, try == len(assertion.RetryWaits))
		}
		x.slowestSnapshot = max(x.slowestSnapshot, x.Now().Sub(start))
		x.op.after = x.slowestSnapshot + x.slowestSnapshot/2
		if err == nil || !assertion.IsAudit(err) || try == len(assertion.RetryWaits) {
			return err
		}
		x.Sleep(assertion.RetryWaits[try])
	}
}

// evaluate evaluates an observation and adds it to the snapshots. The objects that the last attempt
// misses may be those that leak. Then the snapshot counts, but not for a pass.
func (x *Experiment) evaluate(obs *observe.Observation, scopes check.Check, last bool) error {
	doubt := observe.Audit(obs.Report)
	if doubt != nil && (!last || !observe.OnlyMisses(obs.Report)) {
		return &assertion.AuditError{Err: doubt}
	}
	if x.words.Recorded != nil {
		obs.Heap = x.words.Recorded.Eval.Heap
	}
	x.Logs = append(x.Logs, obs.Logs...)
	obs.Logs = x.Logs
	s := tree.Scope{Packages: x.Req.Scope}
	e := check.Evaluate(obs, x.Req, s, []check.Check{scopes})
	m := &history.Snapshot{Calls: x.op.calls, Mapped: x.mapped.bytes, Eval: e, Forest: tree.NameHeldOps(e.Forest.WithFired()), Doubt: doubt}
	if b := tree.Missed(obs.Report.Totals); b != nil && len(s.Packages) == 0 {
		m.Forest = append(m.Forest, b)
	}
	m.Goroutines = x.goroutinesIn(s)
	m.Ledger = x.takeLedger()
	for _, i := range e.Ignored {
		m.Ledger.LeaveOut(ledger.Stack, i.Stacks)
	}
	m.Native = x.takeNative(m.Ledger)
	x.past.Snapshots = append(x.past.Snapshots, m)
	return nil
}

// goroutinesIn counts the goroutines that a scope includes and no Ignore names.
func (x *Experiment) goroutinesIn(s tree.Scope) map[pile.Origin]pile.Goroutines {
	all := x.count(x.Env.IsProgram)
	for origin := range all {
		if !includesGoroutine(&s, origin) || x.ignoresGoroutine(origin) {
			delete(all, origin)
		}
	}
	return all
}

func includesGoroutine(s *tree.Scope, o pile.Origin) bool {
	return len(s.Packages) == 0 || s.IncludesPackage(symbol.Package(o.Entry)) || s.IncludesPackage(symbol.Package(o.Start())) || o.CreatedBy != "" && s.IncludesPackage(symbol.Package(o.CreatedBy))
}

func (x *Experiment) ignoresGoroutine(o pile.Origin) bool {
	return slices.ContainsFunc(x.Req.Ignores, func(i tree.Ignoring) bool {
		return i.Pattern.MatchOrigin(symbol.Unescape(o.Entry), symbol.Unescape(o.Start()), symbol.Unescape(o.CreatedBy))
	})
}

// takeLedger lists the operating system resources of the process. It runs when the snapshot is gone
// and garbage has been finalized.
func (x *Experiment) takeLedger() *ledger.Ledger {
	if x.Resources == nil {
		return nil
	}
	l, err := x.Resources(x.Test)
	var missing []string
	if err != nil {
		missing = []string{err.Error()}
	} else {
		missing = l.Missing
	}
	for _, m := range missing {
		note := "not all resources were looked at: " + m
		if !slices.Contains(x.Logs, note) {
			x.Logs = append(x.Logs, note)
		}
	}
	return l
}

// takeNative adds C code's memory to a ledger, and returns it. It returns nil if that memory is
// unknown, and logs why; in a program without a C library it logs nothing.
func (x *Experiment) takeNative(l *ledger.Ledger) *nativeheap.Heap {
	if x.Native.Take == nil || l == nil {
		return nil
	}
	h, err := x.Native.Take()
	if err != nil {
		x.noteNative(err)
		return nil
	}
	l.AddNative(h)
	return h
}

// noteNative logs once that native memory is not judged. It compares no more than the note's
// beginning, since the cause may have other figures each time.
func (x *Experiment) noteNative(err error) {
	const note = "native memory was not looked at: "
	if errors.Is(err, nativeheap.ErrNone) || slices.ContainsFunc(x.Logs, func(l string) bool { return strings.HasPrefix(l, note) }) {
		return
	}
	x.Logs = append(x.Logs, note+err.Error())
}
