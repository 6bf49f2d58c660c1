package bounds

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// Without debug information, a report has no names of variables, and some objects have no type.
// Only bounds on types are judged then. The counted objects are certain, and the objects that may
// have to be added are known, so that a bound is broken, kept, or unknown.

// doubtOf returns an error if a bound that holds may be broken by objects whose type is not known.
func doubtOf(b *request.Bound, found verdict.Bound, report *refscan.Report) error {
	doubt := "cannot be told by the size and pointers of objects"
	if t := b.Selector.Object; t != nil {
		objects, bytes, ok := report.CouldBe(t)
		if ok && !b.Broken(found.Objects+objects, found.Bytes+bytes) {
			return nil
		}
		if ok {
			doubt = fmt.Sprintf("may have %s more: objects of unknown type that have its size and pointers", textfmt.CountNoun(objects, "object"))
		}
	}
	u := report.NoDebugInfo
	return &refscan.UnavailableError{
		Cause:  fmt.Sprintf("%s; without it, %s %s", u.Cause, b.Selector.Shown, doubt),
		Remedy: u.Remedy,
		Err:    u.Err,
	}
}

// noteMissingDWARF says why there are no names.
func noteMissingDWARF(u *refscan.UnavailableError) string {
	return fmt.Sprintf("paths have no names of variables: %s; %s", u.Cause, u.Remedy)
}
