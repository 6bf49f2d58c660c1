package assertion

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// addResources adds to an observation what the operating system holds for the process, and what C
// code has from malloc if a bound is on that.
func (a *Assertion) addResources(obs *observe.Observation) (err error) {
	unknown := func(err error) error {
		return &refscan.UnavailableError{
			Cause:  "what the operating system holds for the process cannot be listed",
			Remedy: cmp.Or(remedy.ForFile(err), "mount /proc, or leave out Files, Threads and Processes"),
			Err:    err,
		}
	}
	if a.Resources == nil {
		return unknown(errors.ErrUnsupported)
	}
	if obs.Resources, err = a.Resources(a.Test); err != nil {
		return unknown(err)
	}
	if err := a.addNative(obs.Resources); err != nil {
		return err
	}
	if b := a.Req.Baseline; b != nil && b.Resources == nil {
		return unknown(errors.New("there was no list when the baseline was taken"))
	}
	for _, m := range obs.Resources.Missing {
		for _, o := range a.Req.Resources {
			if o.Kind == ledger.Process && m.Kind == ledger.Process {
				return unknown(m)
			}
		}
	}
	return nil
}

// leftovers returns notes on what the tests of a package have left with the operating system: child
// processes, and more descriptors than there are Go objects that stand for one. They are for the
// log: a package may well keep both until the process ends.
func (a *Assertion) leftovers(before *ledger.Ledger, e *check.Evaluation) []string {
	if before == nil {
		return nil
	}
	now, err := a.Resources("")
	if err != nil {
		return nil
	}
	var notes []string
	beyond := func(k ledger.Kind) []ledger.Group {
		return ledger.Beyond(ledger.Groups(now.Program(k)), ledger.Groups(before.Program(k)))
	}
	list := func(groups []ledger.Group) string {
		var all []string
		for i := range groups {
			all = append(all, fmt.Sprintf("%d of %s", groups[i].Size, &groups[i]))
		}
		return strings.Join(all, ", ")
	}
	if left := beyond(ledger.Process); len(left) > 0 {
		notes = append(notes, "child processes that the tests have left: "+list(left))
	}
	left := beyond(ledger.Descriptor)
	if e == nil || e.Names == nil || len(left) == 0 {
		return notes
	}
	var open, held int64
	for _, g := range left {
		open += g.Size
	}
	e.Everything.All(func(b *tree.Branch) bool {
		if slices.Contains(tree.HandleTypes, strings.TrimLeft(b.Typ, "*")) {
			held += b.Objects
		}
		return true
	})
	if open > held {
		notes = append(notes, fmt.Sprintf("descriptors that the tests have left, of which at least %d belong to no Go object: %s", open-held, list(left)))
	}
	return notes
}
