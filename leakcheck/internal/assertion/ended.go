package assertion

import (
	"fmt"
	"hash/maphash"
	"runtime"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// maxStack bounds the callers of an assertion whose variables are looked at.
const maxStack = 64

// holders says which variables of the assertion's callers have ended by now though objects of a
// bounded type may be held by nothing else, so that the bound asks nothing. That is so if nothing
// is alive of the types that lead from the variable to these objects, or of unknown type in its
// function's frames: then no other variable, deferred call, closure or goroutine has them.
//
// The answer for a call is found once. A call that has no such variables costs a walk of its
// variables; one that has takes a snapshot, unless there is the report of one.
func (a *Assertion) holders(report *refscan.Report) (notes []string) {
	for _, b := range a.Req.Bounds {
		if b.Selector.ByType() && (b.MaxObjects != nil || b.MaxBytes != nil) {
			notes = append(notes, a.Holders(b.String, b.Selector.Record, b.Selector.Types, &report)...)
		}
	}
	return notes
}

// Holders is holders for objects of one type. subject says what asks for them, and record is a name
// for it.
func (a *Assertion) Holders(subject func() string, record string, types naming.TypeMatch, report **refscan.Report) []string {
	if a.Ended == nil {
		return nil
	}
	var stack [maxStack]uintptr
	pcs := stack[:runtime.Callers(2, stack[:])]
	key := holdersKey(pcs, record)
	note, known := holderNotes.Load(key)
	if !known {
		is := func(reference string) bool { return types.Matches(naming.CleanType(reference)) }
		if note, known = a.holder(subject(), a.Ended(pcs, is), report); known {
			holderNotes.Store(key, note)
		}
	}
	if note == "" {
		return nil
	}
	return []string{note.(string)}
}

// holderNotes has the notes on calls that were looked at, "" where there is none, by holdersKey.
var holderNotes sync.Map

var holdersSeed = maphash.MakeSeed()

func holdersKey(pcs []uintptr, selector string) uint64 {
	key := maphash.String(holdersSeed, selector)
	for _, pc := range pcs {
		key = (key ^ uint64(pc)) * 0x100000001b3 // as FNV-1a does
	}
	return key
}

// holder returns the note on a bound, "" if something of the variables' types is alive. known is
// false if that cannot be told.
func (a *Assertion) holder(bound string, ended []proof.Ended, report **refscan.Report) (note any, known bool) {
	if len(ended) == 0 {
		return "", true
	}
	if *report == nil {
		obs, err := a.ObserveInTime(observe.Needs{Heap: true})
		if err != nil {
			return "", false
		}
		*report = obs.Report
	}
	alive, untyped := make(map[string]bool), make(map[string]bool)
	tree.GrowForest(*report).All(func(b *tree.Branch) bool {
		alive[b.Typ] = true
		if b.UntypedObjects > 0 && b.Root.Kind == refscan.RootFrame {
			untyped[b.Root.Func] = true
		}
		return true
	})
	var lines []string
	for _, v := range ended {
		if !untyped[v.Func] && !keptBy(v, alive) {
			lines = append(lines, fmt.Sprintf("%s: %s is not used after this line (%s:%d): what it held is garbage; runtime.KeepAlive(%[2]s) keeps it to be judged", bound, v.Name, v.File, v.Line))
		}
	}
	return strings.Join(lines, "\n"), true
}

func keptBy(v proof.Ended, alive map[string]bool) bool {
	for typ := range alive {
		if v.Keeps(typ) {
			return true
		}
	}
	return false
}
