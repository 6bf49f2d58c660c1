package wording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// usualCause is a line with the usual cause of such a leak; nil if none is known.
func (w *Wording) usualCause(l *finding.Leak) []string {
	if l.Goroutines == nil {
		if cause := message.HeapCause(l.Heads[0].Line(), w.Env.IsProgram); cause != "" {
			return []string{message.CausePrefix + cause}
		}
		return nil
	}
	if l.Deepens {
		if f := l.Goroutines.Recursive(w.Env.IsProgram); f != "" {
			return []string{message.CausePrefix + textfmt.Abridge(symbol.Unescape(f), message.MaxNameShown) + " calls itself for the next step, and does not return"}
		}
		return nil
	}
	if i := l.Goroutines.Cause(&l.Origin, w.Env.IsProgram); i >= 0 {
		return []string{message.CausePrefix + goroutine.Causes[i].Text}
	}
	if waitsForTime(l) {
		return []string{message.CausePrefix + receivesTime}
	}
	return nil
}

// receivesTime is the usual cause if goroutines receive from a timer's channel.
const receivesTime = "Stop of a time.Ticker or Timer does not close its channel: whoever receives from it needs another way to end"

// waitsForTime reports whether the goroutines of a leak wait for nothing but the channel of a
// timer.
func waitsForTime(l *finding.Leak) bool {
	return l.Goroutines.State == "chan receive" && slices.ContainsFunc(l.Heads, func(b *tree.Branch) bool { return strings.HasSuffix(b.Typ, "chan time.Time") })
}

func (w *Wording) explainPile(l *finding.Leak) []string {
	line := "in state: " + l.Goroutines.State
	at, via := l.Goroutines.Place(w.Env.IsProgram)
	switch {
	case via != "":
		if l.Goroutines.Sleep > 0 {
			via += fmt.Sprintf(" (for up to %s)", l.Goroutines.Sleep)
		}
		line += fmt.Sprintf(", in %s, called by %s", symbol.Unescape(via), w.callText(at))
	case at.Function != "":
		line += ", at " + w.callText(at)
	}
	lines := []string{line}
	if l.Origin.CreatedBy != "" {
		lines = append(lines, "created by "+w.callText(goroutine.Call{Function: l.Origin.CreatedBy, At: l.Origin.CreatedAt}))
	}
	return lines
}

// callText is "example.com/app.(*Pool).run (pool.go:40)".
func (w *Wording) callText(c goroutine.Call) string {
	s := textfmt.Abridge(symbol.Unescape(c.Function), message.MaxNameShown)
	if at := w.Env.PlaceOf(c.At); at != "" {
		s += " (" + at + ")"
	}
	return s
}
