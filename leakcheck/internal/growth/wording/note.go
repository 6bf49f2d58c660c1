package wording

import (
	"fmt"
	"slices"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
)

// noLeak ends the sentence on how a figure grew.
const noLeak = ", and is no leak"

// maxForgiven is how many figures that grew without being a leak the log names.
const maxForgiven = 5

// Forgiven names the figures that had grown with each batch up to some snapshot before the last,
// and are still higher than at first: a cache that fills, a logarithm, or memory that came and went
// by chance. They are no leaks, so no message mentions them. Of resources that is not certain: the
// system may have refused more of them.
func (w *Wording) Forgiven(suspects []*finding.Leak) []string {
	var notes []string
	seen := make(map[string]bool) // a suspect of several snapshots counts once
	for _, l := range suspects {
		if l.IsMapper() {
			continue // the record of mappings, which are judged themselves
		}
		if l.IsResource() {
			if k := l.Resources[0].Kind; k.InBytes() && k != ledger.NativeBytes {
				continue // spans, and what the runtime maps, come and go
			}
			so := noLeak
			if !l.Resources[0].Kind.OfMalloc() {
				so = " (full, or at a limit that is not known here)"
			}
			notes = appendForgiven(notes, seen, l.Resources[0].Name, l.Resources[0].Kind.Counted(), w.ResourceSeries(l.Resources[0]), so)
			continue
		}
		where, what := "in "+textfmt.Abridge(symbol.Unescape(l.Origin.Entry), message.MaxNameShown), piled(l)
		if l.Goroutines == nil {
			where, what = "via "+path(l), counted(l)
		}
		s := w.SeriesOf(l)
		if used := w.InUseOf(l); used.Gone() {
			s = used
		}
		notes = appendForgiven(notes, seen, where, what, s, noLeak)
	}
	return notes
}

func appendForgiven(notes []string, seen map[string]bool, where, what string, s series.Series, so string) []string {
	if s.Grown() <= 0 || seen[where] || len(notes) > maxForgiven {
		return notes
	}
	seen[where] = true
	if len(notes) == maxForgiven {
		return append(notes, "… and others like these")
	}
	how, further := "not with every batch, or less and less", ""
	switch {
	case s.Gone():
		how, further = "is kept for some time only", fmt.Sprintf(", and %s %s later, after %s", textfmt.Count(s.Later), Wait, textfmt.CountNoun(s.LaterCalls, "call"))
	case s.LevelsOff() || s.BytesLevelOff():
		how, further = "with the size of the largest batch of calls, not with their number", ", and "+s.ShowFurther()
		if s.Fell() {
			how = "fell in a further batch"
		}
	}
	return append(notes, fmt.Sprintf("grew, but %s%s: %s: %s%s", how, so, where, s.Show(what), further))
}

// Unjudged says that mapped memory grows, and that it is unknown whether op or the sanitizer maps
// it.
func Unjudged(r *finding.Resource) string {
	return fmt.Sprintf("could not tell, and did not judge: %s, which is mapped by op or by the sanitizer (run it without -race, -asan and -msan): %s",
		resourceRate(r), r.Own.Show(r.Kind.Counted()))
}

// UnjudgedSlice says that calls make slices longer, or send to channels, and that it is unknown
// whether the program empties them when they are full.
func UnjudgedSlice(l *finding.Longer) string {
	what, how := "", fmt.Sprintf("; a first batch that fills them would tell: Iterations(%d)", l.FillAll())
	if l.Queue {
		what, how = sentInVain, "; let op wait until they are received"
	}
	return fmt.Sprintf("could not tell, and did not judge: %s+%s/op via %s, in arrays that had room for them (%s of %s in use)%s", what,
		series.BytesPerCall(l.Used.PerCall()), textfmt.Abridge(l.Path, message.MaxNameShown), textfmt.ByteCount(l.InUse()), textfmt.ByteCount(l.Bytes), how)
}

const sentInVain = "elements sent to a channel and not received: "

// UnjudgedQueue says that each call adds elements to a channel.
func UnjudgedQueue(perCall, room int) string {
	return fmt.Sprintf("could not tell, and did not judge: "+sentInVain+"+%d/op, and its buffer has room for %s more; Full() names the channel",
		perCall, textfmt.Count(int64(room)))
}

// UnjudgedMapping says that what op uses of memory that its calls have mapped was not counted.
const UnjudgedMapping = "could not tell, and did not judge: what op keeps of the memory that its first calls mapped, if that is not used up yet; Iterations(n) with a larger n would tell"

// UnwatchedSlices says that heap objects were not searched for slices, since the objects with
// pointers have so many bytes. Elements that calls append within the capacity of a slice are
// nothing new.
func UnwatchedSlices(bytes int64) string {
	return "could not tell, and did not judge: what is appended to slices in heap objects, in arrays that had room for it; objects with pointers have " +
		textfmt.ByteCount(bytes) + ", too much to look for slices in them by counters; Full() would tell"
}

// WithoutUseful removes the note that an Ignore matched nothing on the heap, if that Ignore names a
// resource of the operating system.
func (w *Wording) WithoutUseful(notes []string) []string {
	held := w.Last().Ledger
	for _, i := range w.Req.Ignores {
		if held != nil && held.HasName(i.Pattern.MatchWhole) {
			useless := check.UselessIgnore(i.Pattern.Text)
			notes = slices.DeleteFunc(notes, func(note string) bool { return note == useless })
		}
	}
	return notes
}
