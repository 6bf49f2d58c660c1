package tree

import (
	"strings"

	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// goFunc is the function that starts a goroutine for what a timer of time.AfterFunc runs (go1.26
// and go1.27 time/sleep.go).
const goFunc = "time.goFunc"

// WithFired returns a forest in which functions that timers have just started goroutines for, and
// that have not begun to run, hang on those timers. A function that sets its timer again is at
// every moment either pending or about to run; only both together are a number that a snapshot does
// not find by chance.
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
		// of a method value
		function := strings.TrimSuffix(strings.TrimPrefix(b.Name, GoroutineRecord), "-fm")
		rest = rest.hang(b, "timer("+function+")", symbol.Package(function))
	}
	rest.sum()
	return rest
}

// GoroutineRecord begins the names of roots that are what a goroutine was started with, and has no
// frame for yet.
const GoroutineRecord = "goroutine "

// hang makes the function of a goroutine one more that the timers of a name run. Timers that are
// all about to run have no root yet.
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

// rename gives a branch its path and root, and those below it theirs.
func (b *Branch) rename(path string, info *refscan.RootInfo) {
	b.Path, b.Root = path, info
	for _, c := range b.Children {
		c.rename(nodename.Join(path, c.Name), info)
	}
}
