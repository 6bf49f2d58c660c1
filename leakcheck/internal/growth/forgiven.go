package growth

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
)

// showFurther writes the further batches as "16 → 32 after 80 and 112".
func (s series) showFurther() string {
	values, calls := make([]string, len(s.more)), make([]string, len(s.more))
	for i, v := range s.more {
		values[i], calls[i] = textfmt.Count(v), textfmt.Count(s.moreCalls[i])
	}
	return strings.Join(values, " → ") + " after " + textfmt.Enumerate(calls)
}

// maxForgiven is how much of what is no leak the log names.
const maxForgiven = 5

// forgiven names what had grown with each batch up to some snapshot before the last, and is more
// than there was at first: a cache that fills, a logarithm, or what came and went by chance. It is no leak, and so is
// nothing that a message would say.
func (x *Experiment) forgiven() []string {
	var notes []string
	seen := make(map[string]bool) // a suspect of several snapshots counts once
	for _, l := range x.suspects {
		if l.isResource() {
			if l.resources[0].kind.InBytes() {
				continue // spans, and what the runtime maps, come and go
			}
			notes = appendForgiven(notes, seen, l.resources[0].name, l.resources[0].kind.Counted(), x.resourceSeries(l.resources[0]))
			continue
		}
		where, what := "in "+textfmt.Abridge(symbol.Unescape(l.origin.Entry), message.MaxNameShown), "goroutines"
		if l.goroutines == nil {
			where, what = "via "+l.path(), l.counted()
		}
		notes = appendForgiven(notes, seen, where, what, x.seriesOf(l))
	}
	return notes
}

func appendForgiven(notes []string, seen map[string]bool, where, what string, s series) []string {
	if s.grown() <= 0 || seen[where] || len(notes) > maxForgiven {
		return notes
	}
	seen[where] = true
	if len(notes) == maxForgiven {
		return append(notes, "… and others like these")
	}
	if s.levelsOff() || s.bytesLevelOff() {
		return append(notes, fmt.Sprintf("grew with the size of the largest batch of calls, not with their number, and is no leak: %s: %s, and %s",
			where, s.show(what), s.showFurther()))
	}
	return append(notes, fmt.Sprintf("grew, but not with every batch, or less and less, and is no leak: %s: %s", where, s.show(what)))
}

// seriesOf is the series of a leak with the snapshots that there are by now.
func (x *Experiment) seriesOf(l *leak) series {
	switch {
	case l.goroutines != nil:
		return x.goroutinesOf(l.origin)
	case l.moves:
		return x.ofType(l.heads[0].Typ)
	case l.countsTimers():
		return x.timersOf(l.heads[0].Parent)
	}
	return x.measured(l.heads[0], l.measure)
}
