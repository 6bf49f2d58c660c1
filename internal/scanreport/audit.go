package scanreport

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/refscan"
)

// Unsound says why the figures cannot be relied on, "" if nothing speaks against them.
func (s *Scan) Unsound() string {
	switch stop := s.Report.Stopped; {
	case stop != nil && stop.Dangling > 0:
		return fmt.Sprintf("there is %s to memory without an object, which a sound heap does not have: it is damaged, or was read wrong", textfmt.CountNoun(stop.Dangling, "reference"))
	case s.Report.Totals.ExtraBytes > 0:
		return fmt.Sprintf("%s were reached that are no objects", textfmt.ByteCount(s.Report.Totals.ExtraBytes))
	}
	return ""
}

func guessed(stop *refscan.Stopped) string {
	if stop.Interrupted == 0 && stop.Lost == 0 {
		return "nothing: every goroutine stood at a safe point"
	}
	return fmt.Sprintf("innermost frames and registers of %s, whole stacks of %d: what may be a reference there counts as one",
		textfmt.CountNoun(int64(stop.Interrupted), "goroutine"), stop.Lost)
}

func audit(stop *refscan.Stopped) string {
	s := textfmt.CountNoun(stop.Dangling, "dangling reference")
	if stop.UnreachedObjects > 0 {
		s += fmt.Sprintf("; nothing leads to %s, %s, that the last collection found alive: garbage since then, or missed, which only another collection could tell",
			textfmt.CountNoun(stop.UnreachedObjects, "object"), textfmt.ByteCount(stop.UnreachedBytes))
	}
	return s
}
