package wording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
)

// maxForgiven is how much of what is no leak the log names.
const maxForgiven = 5

// Forgiven names what had grown with each batch up to some snapshot before the last, and is more
// than there was at first: a cache that fills, a logarithm, or what came and went by chance. It is
// no leak, and so is nothing that a message would say.
func (w *Wording) Forgiven(suspects []*finding.Leak) []string {
	var notes []string
	seen := make(map[string]bool) // a suspect of several snapshots counts once
	for _, l := range suspects {
		if l.IsResource() {
			if k := l.Resources[0].Kind; k.InBytes() && k != ledger.NativeBytes {
				continue // spans, and what the runtime maps, come and go
			}
			notes = appendForgiven(notes, seen, l.Resources[0].Name, l.Resources[0].Kind.Counted(), w.ResourceSeries(l.Resources[0]))
			continue
		}
		where, what := "in "+textfmt.Abridge(symbol.Unescape(l.Origin.Entry), message.MaxNameShown), "goroutines"
		if l.Goroutines == nil {
			where, what = "via "+path(l), counted(l)
		}
		notes = appendForgiven(notes, seen, where, what, w.SeriesOf(l))
	}
	return notes
}

func appendForgiven(notes []string, seen map[string]bool, where, what string, s series.Series) []string {
	if s.Grown() <= 0 || seen[where] || len(notes) > maxForgiven {
		return notes
	}
	seen[where] = true
	if len(notes) == maxForgiven {
		return append(notes, "… and others like these")
	}
	if s.LevelsOff() || s.BytesLevelOff() {
		return append(notes, fmt.Sprintf("grew with the size of the largest batch of calls, not with their number, and is no leak: %s: %s, and %s",
			where, s.Show(what), s.ShowFurther()))
	}
	return append(notes, fmt.Sprintf("grew, but not with every batch, or less and less, and is no leak: %s: %s", where, s.Show(what)))
}

// Unjudged says that memory grows of which it cannot be told whose it is.
func Unjudged(r *finding.Resource) string {
	return fmt.Sprintf("could not tell, and did not judge: %s, which is mapped by op or by the sanitizer (run it without -race, -asan and -msan): %s",
		resourceRate(r), r.Own.Show(r.Kind.Counted()))
}

// UnjudgedSlice says that calls make slices longer of which it cannot be told whether they are emptied
// when they are full.
func UnjudgedSlice(l *finding.Longer) string {
	return fmt.Sprintf("could not tell, and did not judge: +%s/op via %s, in arrays that had room for them (%s of %s in use); a first batch that fills them would tell: Iterations(%d)",
		series.BytesPerCall(l.Used.PerCall()), textfmt.Abridge(l.Path, message.MaxNameShown), textfmt.ByteCount(l.InUse()), textfmt.ByteCount(l.Bytes), l.FillAll())
}

// UnwatchedSlices says that no slices were looked for in objects, which have so many bytes, though what
// calls append to them is nothing new while they have room for it.
func UnwatchedSlices(bytes int64) string {
	return "could not tell, and did not judge: what is appended to slices in heap objects, in arrays that had room for it; objects with pointers have " +
		textfmt.ByteCount(bytes) + ", too much to look for slices in them by counters; Full() would tell"
}

// WithoutUseful leaves out of notes that an Ignore matched nothing on the heap, where it names
// something that the operating system holds.
func (w *Wording) WithoutUseful(notes []string) []string {
	held := w.Last().Ledger
	for _, i := range w.Req.Ignores {
		if held != nil && held.HasName(i.Pattern.MatchWhole) {
			beginning := fmt.Sprintf("Ignore(%q) matched nothing", i.Pattern.Text)
			notes = slices.DeleteFunc(notes, func(note string) bool { return strings.HasPrefix(note, beginning) })
		}
	}
	return notes
}
