package wording

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
)

// title is "+1.00 *app.Session/op (+4.2 KiB/op) via example.com/app.sessions[*]", after the
// resources that come with it: "+1.00 fd/op: socket to 127.0.0.1:5432 (ESTABLISHED), with +1.00
// ...". If goroutines pile up, they are the leak, and the explanation below lists the resources
// that they keep open.
func title(l *finding.Leak) string {
	switch {
	case l.IsResource():
		return resourceRates(l)
	case len(l.Resources) > 0 && l.Goroutines == nil:
		return resourceRates(l) + ", with " + goTitle(l)
	}
	return goTitle(l)
}

// goTitle is the title without resources of the operating system.
func goTitle(l *finding.Leak) string {
	if l.Goroutines != nil {
		where := " in "
		if l.Deepens {
			where = " on the stack of "
		}
		s := leakRate(l) + where + textfmt.Abridge(symbol.Unescape(l.Origin.Entry), message.MaxNameShown)
		if l.StartedByProgram {
			s += ", started by " + textfmt.Abridge(symbol.Unescape(l.Origin.CreatedBy), message.MaxNameShown)
		}
		return s
	}
	return leakRate(l) + " via " + path(l)
}

// path is the path of the largest head.
func path(l *finding.Leak) string {
	head := l.Heads[0]
	path := head.Path
	switch {
	case head.IsEntries(), l.CountsTimers():
		path = head.Parent.Path
	case head.Parent == nil && head.Recursion != "" && l.Measure == finding.InObjects:
		path = symbol.JoinPath(path, head.Recursion) // growing objects hang on others of their type
	}
	return textfmt.Abridge(path, message.MaxNameShown)
}

// leakRate is how much a leak grows with each call of op: "+1.00 *app.Session/op (+4.2 KiB/op)".
func leakRate(l *finding.Leak) string {
	if l.IsResource() {
		return resourceRates(l)
	}
	bytes := "+" + series.BytesPerCall(bytesPerCallOf(l)) + "/op"
	if l.Goroutines != nil {
		s := series.NounPerCall(l.Piled, strings.TrimSuffix(piled(l), "s")) + "/op"
		if l.Total.Bytes > 0 {
			s += fmt.Sprintf(" (%s beside the stack)", bytes)
		}
		return s
	}
	head := l.Heads[0]
	switch {
	case l.CountsTimers() && !l.Moves:
		return fmt.Sprintf("%s/op (%s)", series.NounPerCall(l.Own, "timer"), bytes)
	case l.IsQueue():
		return fmt.Sprintf("%s in the buffer of a %s", bytes, message.TypeText(head))
	case l.Measure == finding.InBytes, l.Measure == finding.InUse:
		return fmt.Sprintf("%s in %s", bytes, message.TypeText(head))
	case head.IsEntries():
		return fmt.Sprintf("%s entries/op (%s) in %s", series.PerCallText(l.Own), bytes, message.TypeText(head.Parent))
	case l.Measure == finding.InEntries:
		return fmt.Sprintf("%s entries/op (%s) in %s", series.PerCallText(l.Own), bytes, message.TypeText(head))
	}
	return fmt.Sprintf("%s %s/op (%s)", series.PerCallText(l.Own), message.TypeText(head), bytes)
}

// piled is the unit of the series of a leak of goroutines.
func piled(l *finding.Leak) string {
	if l.Deepens {
		return "frames"
	}
	return "goroutines"
}

// bytesPerCallOf is by how many bytes each call makes everything grow that the leak holds.
func bytesPerCallOf(l *finding.Leak) float64 {
	calls := l.Own.Calls
	if l.Goroutines != nil {
		calls = l.Piled.Calls
	}
	return float64(l.Total.Bytes) / float64(calls[len(calls)-1]-calls[0])
}

// counted is the unit of the series of a leak on the heap: objects, entries, bytes or timers.
func counted(l *finding.Leak) string {
	switch {
	case l.Heads[0].IsEntries():
		return finding.InEntries.String()
	case l.CountsTimers() && !l.Moves:
		return "timers"
	}
	return l.Measure.String()
}
