package scanreport

import (
	"fmt"
	"time"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/refscan"
)

// Unsound returns why the figures are not reliable, "" if there is no such reason.
func (s *Scan) Unsound() string {
	switch stop := s.Report.Stopped; {
	case stop != nil && stop.Dangling > 0:
		return fmt.Sprintf("there is %s to memory without an object, which a sound heap does not have: it is damaged, or was read wrong", textfmt.CountNoun(stop.Dangling, "reference"))
	case s.Audit != nil && s.Audit.MissedBytes > maxMissed:
		return fmt.Sprintf("nothing leads to %s, %s, that the next collection found alive: they were missed, or kept by words on stacks that may be no references",
			textfmt.CountNoun(s.Audit.MissedObjects, "object"), textfmt.ByteCount(s.Audit.MissedBytes))
	case s.Report.Totals.ExtraBytes > 0:
		return fmt.Sprintf("%s were reached that are no objects", textfmt.ByteCount(s.Report.Totals.ExtraBytes))
	}
	return ""
}

// maxMissed is how many bytes a scan may have missed according to its audit. The collector itself
// keeps some garbage alive, because of words on the stacks of goroutines that it interrupts, and
// weak pointers bring back some garbage.
const maxMissed = 32 << 10

func guessed(stop *refscan.Stopped) string {
	if stop.Interrupted == 0 && stop.Lost == 0 {
		return "nothing: every goroutine stood at a safe point"
	}
	return fmt.Sprintf("innermost frames and registers of %s, whole stacks of %d: what may be a reference there counts as one",
		textfmt.CountNoun(int64(stop.Interrupted), "goroutine"), stop.Lost)
}

func (s *Scan) audit(stop *refscan.Stopped) string {
	text := textfmt.CountNoun(stop.Dangling, "dangling reference")
	if next := s.Audit; next != nil {
		text += fmt.Sprintf("; nothing leads to %s, %s, that the collection before found alive: the next one, %s later, found ",
			textfmt.CountNoun(stop.UnreachedObjects, "object"), textfmt.ByteCount(stop.UnreachedBytes), next.Waited.Round(time.Millisecond))
		if next.MissedObjects == 0 {
			return text + "none of them alive: none was missed"
		}
		return text + fmt.Sprintf("%s of them alive, %s", textfmt.Count(next.MissedObjects), textfmt.ByteCount(next.MissedBytes))
	}
	if stop.UnreachedObjects > 0 {
		text += fmt.Sprintf("; nothing leads to %s, %s, that the last collection found alive: garbage since then, or missed, which only another collection could tell (-audit)",
			textfmt.CountNoun(stop.UnreachedObjects, "object"), textfmt.ByteCount(stop.UnreachedBytes))
	}
	return text
}
