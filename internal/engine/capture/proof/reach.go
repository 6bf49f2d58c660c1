// Package proof answers questions about this process with less effort than a scan. A positive
// answer is certain; after a negative one, a scan has to decide. Errors are of type
// *snapshot.Unavailable.
package proof

import (
	"context"
	"math"

	"github.com/leakgate/leakgate/internal/engine/capture/liveread"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A Reach is the number of objects and bytes that a package variable of this process leads to:
// never less than a scan of the same moment would charge to the variable, and often more.
type Reach struct {
	Ident string                 // the variable's name, without its package's name
	Is    func(name string) bool // reports whether a variable is meant, by its name below the import path or below the package's name
	Count
}

// A Count is a number of objects and their bytes, with bounds.
type Count struct {
	MaxObjects, MaxBytes int64 // negative: none
	Objects, Bytes       int64 // found
}

func (c *Count) within() bool {
	return (c.MaxObjects < 0 || c.Objects <= c.MaxObjects) && (c.MaxBytes < 0 || c.Bytes <= c.MaxBytes)
}

// Claims are bounds that may be proved without a scan.
type Claims struct {
	Variables []*Reach
	Types     []*TypeCount
	// Learn, unless it is nil, is called before the Is of any claim, with the program's packages
	// whose import path ends in something other than the name, and these names.
	Learn func(packageNames map[string]string)
}

// Within reports whether all counts are within their bounds, and fills in the numbers found. It
// reads memory of this very process, without waiting for it to settle; the result holds for the
// moment when Within began. Like refscan.Capture it reads (or builds) the debug information first,
// and returns an error if it cannot. If it returns false, a count exceeds its bounds, or Within
// cannot tell. A scan can.
func Within(ctx context.Context, logf func(string, ...any), c Claims) (within bool, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	if snapshot.Padded || snapshot.CheckPlatform() != nil || snapshot.CheckSettings() != nil {
		return false, nil // Capture gives the reason
	}
	x, err := snapshot.OpenIndex(ctx, logf)
	if err != nil {
		return false, err
	}
	if c.Learn != nil {
		c.Learn(x.PackageNames())
	}
	if within = variablesWithin(x, c.Variables); !within || len(c.Types) == 0 {
		return within, nil
	}
	return typesWithin(ctx, x, c.Types)
}

// variablesWithin reports whether all variables lead to no more than their bounds allow. The world
// is stopped for some ten microseconds, and for a millisecond at most. It cannot tell if a
// variable leads to more than can be followed in that time, or to a goroutine's stack; if its name
// stands for no variable, for several, or also for variables in a function's frames; or if other
// goroutines ran meanwhile.
func variablesWithin(x *debuginfo.Index, all []*Reach) bool {
	if len(all) == 0 {
		return true
	}
	if programVariables.prepare(x) != nil {
		return false // a scan has other ways
	}
	walks := make([]*liveread.Walk, len(all))
	for i, r := range all {
		v, ok := programVariables.find(r)
		if !ok {
			return false
		}
		walks[i] = programVariables.all.Walk(v.Addr, liveread.Limit{Objects: orAny(r.MaxObjects), Bytes: orAny(r.MaxBytes)})
	}
	alone := false
	freeze.OnOneProcessor(func() { alone = programVariables.all.RunAll(walks) })
	for i, w := range walks {
		all[i].Objects, all[i].Bytes = w.Objects, w.Bytes
		alone = alone && w.Within()
	}
	return alone
}

func orAny(most int64) int64 {
	if most < 0 {
		return math.MaxInt64
	}
	return most
}

// programVariables is the data on this program's variables. It is made from one index. Captures
// take turns.
var programVariables variables

type variables struct {
	x        *debuginfo.Index
	all      *liveread.Variables
	err      error           // why all is nil
	packages map[string]bool // packages with a variable or a function
	// names of packages that are not the last element of their import path, by that path
	names map[string]string
}

// globalClosures begins the names of closures in initialisers of variables, and of their frames'
// variables: "pkg.glob..func1" (go1.26 and go1.27 cmd/compile/internal/ir/func.go, closureName).
const globalClosures = "glob"

func (v *variables) prepare(x *debuginfo.Index) error {
	if v.x == x {
		return v.err
	}
	v.x, v.all, v.packages, v.names = x, nil, make(map[string]bool), x.PackageNames()
	v.all, v.err = variablesOf(x)
	if v.err != nil {
		return v.err
	}
	for _, g := range x.Globals() {
		v.packages[g.Package] = true
	}
	for _, f := range x.Funcs() {
		v.packages[f.Package] = true
	}
	return nil
}

func variablesOf(x *debuginfo.Index) (*liveread.Variables, error) {
	layout, err := layoutOf(x)
	if err != nil {
		return nil, err
	}
	return liveread.NewVariables(layout, x)
}

// find returns the one variable that r means, if it can mean nothing else: no variable of another
// package, no goroutine that a function of that name began, and no variable of such a function's
// frames. Within a package a variable and a function cannot have the same name, so it is enough to
// check that r means only one package.
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
