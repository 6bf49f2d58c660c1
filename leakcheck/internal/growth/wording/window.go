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

// What a program keeps for some time, as metrics of the last ten seconds, grows until that time is
// over. Its entries have times, in their keys or in what is stored, and all of them are recent, or
// about as far ahead. A leak may look the same, so a message says so, and what would tell.

// maxBucket is how much older than its entries a time may be that stands for a period of them.
const maxBucket = time.Minute

// TimesOf asks for the recent times in what grows, for the message about it; nil: there are no
// objects. The experiment began then.
func TimesOf(g *finding.Growth, began time.Time) *observe.TimesQuery {
	q := &observe.TimesQuery{Since: began.Add(-maxBucket)}
	for _, l := range g.Leaks[:min(len(g.Leaks), message.MaxTraced)] {
		if len(l.Heads) == 0 || l.Goroutines != nil || l.CountsTimers() || l.Heads[0].IsMissed() {
			continue
		}
		// Entries are what grows, or what it refers to. Maps above may have times for keys.
		head := l.Heads[0]
		q.Arrays = q.Arrays || strings.HasPrefix(head.Typ, "[]")
		for b := head; b != nil; b = b.Parent {
			if b == head || b.Objects > 0 || b.Bytes > 0 || strings.HasPrefix(b.Typ, "map[") {
				q.Add(b.Path, b.ReportPath(), head.Path)
			}
		}
		for _, b := range head.Children {
			q.Add(b.Path, b.ReportPath(), head.Path)
		}
	}
	if q.Times == nil {
		return nil
	}
	return q
}

// window says that what grows may be kept for some time only, if all of it has such times.
func (w *Wording) window(l *finding.Leak) []string {
	if w.Times == nil {
		return nil
	}
	for i := range w.Times.Times {
		t := &w.Times.Times[i]
		if t.Of != l.Heads[0].Path {
			continue
		}
		if window := t.Window(w.Times); window != "" {
			return []string{fmt.Sprintf("may be a window of time: the times in %s are %s; fill the window first (Warmup), or make it shorter in the test",
				textfmt.Abridge(t.Place, message.MaxNameShown), window)}
		}
	}
	return nil
}
