package tree

import (
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// goFunc is the function with which a time.AfterFunc timer starts a goroutine for the function that
// it runs (go1.26 and go1.27 time/sleep.go).
const goFunc = "time.goFunc"

// WithFired returns a forest in which the functions of fired time.AfterFunc timers hang on those
// timers, if the goroutine of the function has not begun to run. A function that sets its timer
// again is at every moment either pending or about to run. Only the sum of both does not depend on
// the moment of the snapshot.
func (f Forest) WithFired() Forest {
	var rest, fired Forest
	for _, b := range f {
		if strings.HasPrefix(b.Name, GoroutineRecord) && b.Root.CreatedBy == goFunc && b.Root.Kind != refscan.RootGlobal {
			fired = append(fired, b)
		} else {
			rest = append(rest, b)
		}
	}
	for _, b := range fired {
		// a method value's name ends in -fm
		function := strings.TrimSuffix(strings.TrimPrefix(b.Name, GoroutineRecord), "-fm")
		rest = rest.hang(b, symbol.TimerRoot+function+")", symbol.Package(function))
	}
	rest.sum()
	return rest
}

// GoroutineRecord is the prefix of the names of roots for what a goroutine was started with, and
// has no frame for yet.
const GoroutineRecord = "goroutine "

// hang puts the function of a goroutine below the root of the timers with a name, and counts it as
// one more timer. If no timer of that name is pending, it makes the root.
func (f Forest) hang(function *Branch, name, pkg string) Forest {
	var t *Branch
	for _, b := range f {
		if b.Root.Kind == refscan.RootTimer && b.Name == name {
			t = b
		}
	}
	if t == nil {
		t = &Branch{Name: name, Path: name, Root: &refscan.RootInfo{Kind: refscan.RootTimer, Package: pkg}}
		f = append(f, t)
	}
	info := *t.Root
	info.Timers += function.Objects
	t.Children = append(t.Children, function)
	function.Parent, function.Name = t, "$fn"
	t.rename(t.Path, &info)
	return f
}

// rename sets the path and root of a branch and of all below it.
func (b *Branch) rename(path string, info *refscan.RootInfo) {
	b.Path, b.Root = path, info
	for _, c := range b.Children {
		c.rename(symbol.JoinPath(path, c.Name), info)
	}
}
