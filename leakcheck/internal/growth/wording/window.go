package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// Wait is for how long op is not called to see whether what grows is taken away as time goes on.
// Windows of ten seconds are common.
const Wait = 12 * time.Second

// maxBucket is how much older than its entries a time may be that stands for a period of them.
const maxBucket = time.Minute

// ContentOf asks for the recent times in what grows. The experiment began then.
func ContentOf(g *finding.Growth, began time.Time) *observe.ContentQuery {
	q := &observe.ContentQuery{Since: began.Add(-maxBucket)}
	for _, l := range g.Leaks[:min(len(g.Leaks), message.MaxTraced)] {
		if len(l.Heads) == 0 || l.Goroutines != nil || l.CountsTimers() || l.Heads[0].IsMissed() {
			continue
		}
		// Entries are what grows, or what it refers to. Maps above may have times for keys.
		head := l.Heads[0]
		q.Arrays = q.Arrays || strings.HasPrefix(head.Typ, "[]")
		for b := head; b != nil; b = b.Parent {
			if b == head || b.Objects > 0 || b.Bytes > 0 || strings.HasPrefix(b.Typ, "map[") {
				q.AddTimes(b.Path, b.ReportPath(), head.Path)
			}
		}
		for _, b := range head.Children {
			q.AddTimes(b.Path, b.ReportPath(), head.Path)
		}
	}
	return q
}

// timesIn returns the times in what grows, if each of it has one; nil if not.
func (w *Wording) timesIn(l *finding.Leak) *observe.Times {
	if w.Content == nil || len(l.Heads) == 0 || l.Goroutines != nil {
		return nil
	}
	for i := range w.Content.Times {
		if t := &w.Content.Times[i]; t.Of == l.Heads[0].Path && (t.Recent() || t.Expires(w.Content) > 0) {
			return t
		}
	}
	return nil
}

// MayExpire reports whether some leak may be gone after Wait, by the times in it, or by its timers
// or sleeping goroutines, and none is a known mistake: a context that is not cancelled is gone
// after its time, too.
func (w *Wording) MayExpire(g *finding.Growth) (may bool) {
	for _, l := range g.Leaks {
		if endsByTime(l, w.Env.IsProgram) {
			may = true
			continue
		}
		if !l.IsResource() && w.usualCause(l) != nil {
			return false
		}
		t := w.timesIn(l)
		may = may || t != nil && (t.Recent() || t.Expires(w.Content) <= Wait)
	}
	return may
}

// endsByTime reports whether a leak is the program's timers, or goroutines that sleep, and all have
// fired or woken up after Wait.
func endsByTime(l *finding.Leak, isProgram func(pkg string) bool) bool {
	switch {
	case l.Goroutines != nil:
		return !l.Deepens && l.Goroutines.Sleep > 0 && l.Goroutines.Sleep <= Wait
	case l.IsResource() || !l.CountsTimers():
		return false
	}
	root := l.Heads[0].Root
	return root.Period == 0 && root.DueLast <= Wait && isProgram(root.Package)
}

// expiry says of what grows that it expires after the experiment.
func (w *Wording) expiry(l *finding.Leak) []string {
	t := w.timesIn(l)
	if t == nil || t.Recent() || t.Expires(w.Content) <= Wait {
		return nil
	}
	return []string{fmt.Sprintf("expires up to %s ahead, by the times in %s: whether something takes it away then is not known; make it shorter in the test",
		t.Expires(w.Content), textfmt.Abridge(t.Place, message.MaxNameShown))}
}
