package growth

import (
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// An observer takes snapshots of the process that the experiment is about.
type observer struct {
	a       *assertion.Assertion
	source  *Source
	slowest time.Duration // how long the slowest snapshot took
}

// A moment is when a snapshot is taken.
type moment struct {
	calls  int64             // of op so far, or of what it stands for
	mapped int64             // bytes of anonymous memory that these calls have mapped
	like   *finding.Snapshot // its heap profile is the one to keep; nil: the one of the snapshot
}

// take takes a snapshot, and another one if it does not agree with the collector. more is what it
// finds out besides what each snapshot of an experiment does.
func (o *observer) take(more observe.Needs, at moment) (*finding.Snapshot, error) {
	scopes := check.ScopeCheck{Req: o.a.Req, Goroutines: true}
	last := *o.a.Req
	for _, pattern := range o.a.Env.Suppressed {
		last.Ignore(pattern, "suppressed")
	}
	order := request.OrderOf(&last, tree.Scope{Packages: o.a.Req.Scope})
	order.PackagesFirst, order.TestsLast = false, false
	needs := scopes.Needs().And(observe.Needs{Order: order, Heap: true, Profile: o.a.Env.KeepsFiles()}).And(more)
	for try := 0; ; try++ {
		start := o.a.Now()
		var m *finding.Snapshot
		obs, err := o.a.ObserveInTime(needs)
		if err == nil {
			m, err = o.evaluate(obs, scopes, try == len(assertion.RetryWaits), at)
		}
		o.slowest = max(o.slowest, o.a.Now().Sub(start))
		if err == nil || !assertion.IsAudit(err) || try == len(assertion.RetryWaits) {
			return m, err
		}
		o.a.Sleep(assertion.RetryWaits[try])
	}
}

// evaluate evaluates an observation. The objects that the last attempt misses may be those that
// leak. Then the snapshot counts, but not for a pass.
func (o *observer) evaluate(obs *observe.Observation, scopes check.Check, last bool, at moment) (*finding.Snapshot, error) {
	doubt := observe.Audit(obs.Report)
	if doubt != nil && (!last || !observe.OnlyMisses(obs.Report)) {
		return nil, &assertion.AuditError{Err: doubt}
	}
	if at.like != nil {
		obs.Heap = at.like.Eval.Heap
	}
	o.a.Logs = append(o.a.Logs, obs.Logs...)
	obs.Logs = o.a.Logs
	s := tree.Scope{Packages: o.a.Req.Scope}
	e := check.Evaluate(obs, o.a.Req, s, []check.Check{scopes})
	m := &finding.Snapshot{Calls: at.calls, Mapped: at.mapped, Eval: e, Forest: tree.NameHeldOps(e.Forest.WithFired()), Doubt: doubt}
	if b := tree.Missed(obs.Report.Totals); b != nil && len(s.Packages) == 0 {
		m.Forest = append(m.Forest, b)
	}
	m.Goroutines = o.goroutinesIn(s)
	m.Ledger = o.takeLedger()
	for _, i := range e.Ignored {
		m.Ledger.LeaveOut(ledger.Stack, i.Stacks)
	}
	if m.Ledger != nil {
		m.Native = takeNative(o.a)
	}
	if m.Native != nil {
		m.Ledger.AddNative(m.Native)
	}
	return m, nil
}

// goroutinesIn counts the goroutines that a scope includes and no Ignore names.
func (o *observer) goroutinesIn(s tree.Scope) map[goroutine.Origin]goroutine.Pile {
	all := o.source.Goroutines(o.a.Env.IsProgram)
	for origin := range all {
		if !includesGoroutine(&s, origin) || o.ignoresGoroutine(origin) {
			delete(all, origin)
		}
	}
	return all
}

func includesGoroutine(s *tree.Scope, o goroutine.Origin) bool {
	return len(s.Packages) == 0 || s.IncludesPackage(symbol.Package(o.Entry)) || s.IncludesPackage(symbol.Package(o.Start())) || o.CreatedBy != "" && s.IncludesPackage(symbol.Package(o.CreatedBy))
}

func (o *observer) ignoresGoroutine(g goroutine.Origin) bool {
	return slices.ContainsFunc(o.a.Req.Ignores, func(i tree.Ignoring) bool {
		return i.Pattern.MatchOrigin(symbol.Unescape(g.Entry), symbol.Unescape(g.Start()), symbol.Unescape(g.CreatedBy))
	})
}

// takeLedger lists the operating system resources of the process. It runs when the snapshot is gone
// and garbage has been finalized.
func (o *observer) takeLedger() *ledger.Ledger {
	if o.a.Resources == nil {
		return nil
	}
	l, err := o.a.Resources(o.a.Test)
	missing := []error{err}
	if err == nil {
		missing = l.Errors()
	}
	for _, m := range missing {
		note := "not all resources were looked at: " + m.Error()
		if !slices.Contains(o.a.Logs, note) {
			o.a.Logs = append(o.a.Logs, note)
		}
	}
	return l
}
