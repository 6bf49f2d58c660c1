package leakcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// due says when objects are expected to be garbage.
type due bool

const (
	now   due = false
	atEnd due = true // of the test
)

// maxPaths is how many paths to an object are looked for.
const maxPaths = 4

// A survivor is an object that is not garbage, and what keeps it alive.
type survivor struct {
	*expectation
	*refscan.Retention
	variable string // not on the heap: the package variable that it is, or part of
	offHeap  bool
	excused  bool // only what is no leak holds it
	holder   int  // index of another survivor on its path, the nearest to the root; -1 if there is none
}

// checkCollected waits until all objects are garbage, and fails the test with what holds those that do not
// become so. The first snapshot tells what only functions registered with t.Cleanup hold, which need not be
// waited for; what something else holds gets its time before the second.
func (c *checker) checkCollected(t TestingT, es []*expectation, when due) bool {
	t.Helper()
	alive, err := collectAll(es)
	a := &assertion{checker: c, t: t, env: c.environment(), req: &request{}, test: testName(t), at: es[0].at}
	o := &outcome{verdict: verdict.Pass}
	if err != nil || len(alive) > 0 {
		o = a.judgeCollected(alive, err, when)
	}
	o.notes = append(a.logs, o.notes...)
	a.keep(o)
	return o.report(t)
}

func (a *assertion) judgeCollected(alive []*expectation, err error, when due) *outcome {
	for last := false; ; last = true {
		if err != nil {
			return a.unknown(err)
		}
		var survivors []*survivor
		if survivors, err = a.findHolders(alive, when); err != nil {
			continue
		}
		o := a.judgeSurvivors(survivors, when)
		if !o.failed || last {
			return o
		}
		alive, err = a.awaitCollection(alive)
		if err == nil && len(alive) == 0 {
			return &outcome{verdict: verdict.Pass}
		}
	}
}

// awaitCollection gives the objects the time that ending goroutines may need, and returns those that are
// still alive.
func (a *assertion) awaitCollection(es []*expectation) (alive []*expectation, err error) {
	alive = es
	for _, wait := range retryWaits {
		a.sleep(wait)
		if alive, err = collectAll(alive); err != nil || len(alive) == 0 {
			break
		}
	}
	return alive, err
}

// collections is how many collections what is in a sync.Pool or has a finalizer may need.
const collections = 3

// collectAll collects garbage and returns the objects that are still alive.
func collectAll(es []*expectation) ([]*expectation, error) {
	for range collections {
		if err := refscan.Collect(context.Background()); err != nil {
			return nil, err
		}
		var alive []*expectation
		for _, e := range es {
			if !e.isCollected() {
				alive = append(alive, e)
			}
		}
		if es = alive; len(es) == 0 {
			break
		}
	}
	return es, nil
}

// findHolders freezes the process and looks for what keeps the objects alive.
func (a *assertion) findHolders(es []*expectation, when due) (_ []*survivor, err error) {
	observing.Lock()
	defer observing.Unlock()
	snapshot, err := refscan.Capture(refscan.WithLog(func(format string, args ...any) {
		a.logs = append(a.logs, fmt.Sprintf(format, args...))
	}))
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := snapshot.Close(); err == nil {
			err = closeErr
		}
	}()
	a.env.declared = snapshot.Declaration
	// What is alive now was so when the process was frozen, and where it is now: objects do not move.
	var found []*survivor
	var addresses []uintptr
	for _, e := range es {
		if addr := e.address(); addr != 0 {
			found = append(found, &survivor{expectation: e, holder: -1})
			addresses = append(addresses, addr)
		}
	}
	for i, s := range found {
		if err := s.trace(snapshot, i, addresses, when); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// trace looks for the paths to the survivor with number i.
func (s *survivor) trace(snapshot *refscan.Snapshot, i int, addresses []uintptr, when due) error {
	hidden := false
	query := refscan.PathQuery{Limit: maxPaths, Watch: addresses}
	if when == atEnd {
		query.Ignore = func(holder, name string) bool {
			if !isTestCleanup(holder, name) {
				return false
			}
			hidden = true
			return true
		}
	}
	r, err := snapshot.Paths(addresses[i], query)
	switch {
	case errors.Is(err, refscan.ErrNotOnHeap):
		s.offHeap, s.variable = true, snapshot.VariableAt(addresses[i])
		return nil
	case errors.Is(err, refscan.ErrNotAlive):
		s.excused = true // it died after the last collection
		return nil
	case err != nil:
		return err
	}
	s.Retention = r
	if len(r.Paths) == 0 {
		if !hidden && !r.Shared {
			return &refscan.UnavailableError{
				Cause:  "the collector found " + s.typ + " alive (" + s.reason + "), but no reference to it was found",
				Remedy: "please report this, with the Go version and what is known of the object",
			}
		}
		s.excused = true
		return nil
	}
	for _, step := range r.Paths[0].Steps {
		if step.Watched > 0 && step.Watched != i+1 {
			s.holder = step.Watched - 1
			break
		}
	}
	return nil
}

// isTestCleanup reports whether a reference is one of the testing package to a function that was registered
// with t.Cleanup. It keeps those that have run, too, until the test is over (testing.common.cleanups,
// go1.26 testing/testing.go).
func isTestCleanup(holder, name string) bool {
	holder = strings.TrimPrefix(holder, "*")
	return strings.HasPrefix(holder, "testing.") && (name == "cleanups" || strings.HasSuffix(name, ".cleanups") || strings.Contains(name, "cleanups["))
}

func (a *assertion) judgeSurvivors(all []*survivor, when due) *outcome {
	o := &outcome{verdict: verdict.Pass}
	var guilty []*survivor
	for _, s := range all {
		if !s.excused {
			guilty = append(guilty, s)
		}
	}
	if n := len(all) - len(guilty); n > 0 {
		o.notes = append(o.notes, countNoun(int64(n), "object")+" still alive, but held by nothing that is a leak: functions registered with Cleanup go when the test is over")
	}
	if len(guilty) == 0 {
		return o
	}
	o.verdict, o.failed = verdict.Fail, true
	o.message = a.survivorMessage(guilty, all, when)
	for _, s := range guilty {
		o.bounds = append(o.bounds, a.survivorRecord(s))
	}
	return o
}

// survivorRecord is the record of an object that should be garbage, as a bound of none.
func (a *assertion) survivorRecord(s *survivor) verdict.Bound {
	none := int64(0)
	b := verdict.Bound{
		Selector: "ExpectCollected: " + s.typ, MaxObjects: &none, Objects: 1, Verdict: verdict.Fail,
		Path: unescapePath(s.variable), Type: s.typ,
	}
	if s.Retention == nil || len(s.Paths) == 0 {
		return b
	}
	b.Bytes = s.RetainedBytes
	if s.Type != "" && !s.Inner {
		b.Type = s.Type
	}
	path := s.Paths[0].Name
	for _, step := range s.Paths[0].Steps {
		if step.Name != "" { // the root variable itself has none
			path = refscan.JoinPath(path, refscan.FoldName(step.Name))
		}
	}
	b.Path = unescapePath(path)
	a.locate(&b, rootBranch(s.Paths[0]))
	return b
}
