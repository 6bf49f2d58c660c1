// Package proof answers questions about this process with less than a scan: what answers yes holds, and what answers
// no leaves it to a scan. Errors are of type *snapshot.Unavailable.
package proof

import (
	"context"
	"math"
	"sync"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/freeze"
	"github.com/leakgate/leakgate/internal/engine/reach"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A Reach is how much a package variable of this process leads to: never less than a scan of the
// same moment would charge to it, and often more.
type Reach struct {
	Ident string                 // the variable's name, without that of its package
	Is    func(name string) bool // reports whether a variable of that full name, or below the package's name, is meant
	// MaxObjects and MaxBytes are where the count may stop; negative: nowhere.
	MaxObjects, MaxBytes int64

	Objects, Bytes int64 // found
}

// ReachWithin reports whether all variables lead to no more than their bounds say, and fills in how
// much that is. It looks at this very process, without a collection and without waiting for it to
// settle: the world is stopped for some ten microseconds, and for a millisecond at most. What was
// found holds for that moment. Like refscan.Capture it reads (or builds) the debug information first; that this
// cannot be had is an error.
//
// If it returns false, there is more, or it could not be told: because a variable leads to more than
// can be followed in that time, or to a goroutine's stack; because its name stands for no variable, for
// several, or for what a function's frames hold, too; or because goroutines ran meanwhile. A scan will
// know.
func ReachWithin(ctx context.Context, logf func(string, ...any), all []*Reach) (within bool, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	if snapshot.Padded || snapshot.CheckPlatform() != nil || snapshot.CheckSettings() != nil {
		return false, nil // Capture says why
	}
	x, err := snapshot.OpenIndex(ctx, logf)
	if err != nil {
		return false, err
	}
	plain.Lock()
	defer plain.Unlock()
	if err := plain.prepare(x); err != nil {
		return false, nil // a scan has other ways
	}
	walks := make([]*reach.Walk, len(all))
	for i, r := range all {
		v, ok := plain.find(r)
		if !ok {
			return false, nil
		}
		walks[i] = plain.layout.Variable(v.Addr, reach.Limit{Objects: orAny(r.MaxObjects), Bytes: orAny(r.MaxBytes)})
	}
	alone := false
	freeze.OnOneProcessor(func() { alone = plain.layout.RunAll(walks) })
	for i, w := range walks {
		all[i].Objects, all[i].Bytes = w.Objects, w.Bytes
		alone = alone && w.Within()
	}
	return alone, nil
}

func orAny(most int64) int64 {
	if most < 0 {
		return math.MaxInt64
	}
	return most
}

// plain is what is known of this program's variables. It is made of one index.
var plain variables

type variables struct {
	sync.Mutex
	x        *debuginfo.Index
	layout   *reach.Layout
	err      error           // why there is no layout
	packages map[string]bool // that have a variable or a function
	// those whose import path ends otherwise, by path
	names map[string]string
}

// globalClosures begins the names of closures in initialisers of variables, and of their frames'
// variables: "pkg.glob..func1" (go1.26 and go1.27 cmd/compile/internal/ir/func.go, closureName).
const globalClosures = "glob"

func (v *variables) prepare(x *debuginfo.Index) error {
	if v.x == x {
		return v.err
	}
	v.x, v.layout, v.packages, v.names = x, nil, make(map[string]bool), x.PackageNames()
	bias, err := snapshot.LoadBias(x)
	if err == nil {
		v.layout, err = reach.Load(x, bias)
	}
	if v.err = err; err != nil {
		return err
	}
	for _, g := range x.Globals() {
		v.packages[g.Package] = true
	}
	for _, f := range x.Funcs() {
		v.packages[f.Package] = true
	}
	return nil
}

// find returns the one variable that is meant, if nothing else can be: no variable of another
// package, no goroutine that a function of that name began, and no variable of such a function's
// frames. Of one package a variable and a function cannot have the same name, so it is enough that
// only one package is meant.
func (v *variables) find(r *Reach) (g debuginfo.Global, ok bool) {
	if r.Ident == globalClosures {
		return g, false
	}
	found := ""
	for pkg := range v.packages {
		if pkg == "" || !r.Is(symbol.Unescape(pkg)+"."+r.Ident) && (v.names[pkg] == "" || !r.Is(v.names[pkg]+"."+r.Ident)) {
			continue
		}
		if found != "" {
			return g, false
		}
		found = pkg + "." + r.Ident
	}
	if found == "" {
		return g, false
	}
	g, ok = v.x.GlobalByName(found)
	return g, ok && g.Type != 0
}
