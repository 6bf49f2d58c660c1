package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/refscan"
)

// Where debug information cannot be had, a report has no names of variables, and some objects have no type. Only bounds on types are judged
// then: what is counted is certain, and what may have to be added is known, so that a bound is broken, kept, or unknown.

// named returns an error if a report has no names and the request needs them.
func (r *request) named(report *refscan.Report) error {
	u := report.Unnamed()
	if u == nil {
		return nil
	}
	if len(r.bounds) == 0 || len(r.scope) > 0 || len(r.ignores) > 0 || r.baseline != nil || r.goroutines != nil {
		return u
	}
	for _, b := range r.bounds {
		if !b.selector.byType() {
			return u
		}
	}
	return nil
}

// doubt returns an error if bounds may be broken by objects whose type is not known.
func (e *evaluation) doubt() error {
	u := e.obs.report.Unnamed()
	if u == nil || !e.ok() {
		return nil
	}
	for i := range e.findings {
		f := &e.findings[i]
		doubt := "cannot be told by the size and pointers of objects"
		if t := f.bound.selector.object; t != nil {
			objects, bytes, ok := e.obs.report.CouldBe(t)
			if ok && !f.bound.broken(f.found.objects+objects, f.found.bytes+bytes) {
				continue
			}
			if ok {
				doubt = fmt.Sprintf("may have %s more: objects of unknown type that have its size and pointers", countNoun(objects, "object"))
			}
		}
		return &refscan.UnavailableError{
			Cause:  fmt.Sprintf("%s; without it, %s %s", u.Cause, f.bound.selector.shown, doubt),
			Remedy: u.Remedy,
			Err:    u.Err,
		}
	}
	return nil
}

// noteUnnamed tells why there are no names.
func (e *evaluation) noteUnnamed() {
	if u := e.obs.report.Unnamed(); u != nil {
		e.notes = append(e.notes, fmt.Sprintf("paths have no names of variables: %s; %s", u.Cause, u.Remedy))
	}
}
