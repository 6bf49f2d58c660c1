package nativeholders

import (
	"errors"

	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/retain"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
)

// A cut is what is taken out of a program. What else there is leads to its blocks first; what the cut
// would free leads to the others after that.
type cut struct {
	after     bool // the others have had their turn
	freed     func(attribute.Claim) bool
	variables map[string]bool // that are cleared
	heap      *goHeap
	later     []laterClaim
	sum       Sum // what is reached after the others
}

var errUnread = errors.New("not all memory was read that may lead to them, too")

type laterClaim struct {
	node  *attribute.Node
	claim attribute.Claim
}

// FindFreed finds the blocks that cutting the nodes that is means would leave without a reference, all
// of them at once: those that nothing leads to but what the cut would free of Go's heap. It is given
// nodes with their paths in a folded report. To cut a root is to clear its variable, and to cut
// another node to drop its objects; with asObjects roots are like others. What only looks like an
// address may hold a block, so that there are as many at least. It takes about two scans with what
// they retain, and errors are those of Find.
func FindFreed(s *snapshot.Snapshot, is func(n *attribute.Node, path string) bool, asObjects bool) (sum Sum, err error) {
	defer snapshot.Guard(&err)()
	f, err := open(s)
	if err != nil {
		return sum, err
	}
	paths := make(attribute.Paths)
	_, retained := retain.Run(f.heap, f.program, nil)
	defer retained.Release()
	f.cut = &cut{variables: make(map[string]bool)}
	freed, release := retained.Freed(func(n *attribute.Node) bool {
		is := is(n, paths.Of(n))
		if is && n.Parent() == nil && !asObjects {
			f.cut.variables[n.Name] = true
		}
		return is
	}, asObjects)
	if freed == nil {
		return sum, &snapshot.Unavailable{Cause: "what is retained by what is too complex to be told apart"}
	}
	defer release()
	f.cut.freed = freed
	if err := f.follow(Mapping); err != nil {
		return sum, err
	}
	f.cut.after = true
	if err := f.follow(Go); err != nil {
		return sum, err
	}
	if f.cut.sum.Blocks > 0 && f.unread > 0 {
		return sum, errUnread
	}
	return f.cut.sum, f.mem.Broken()
}

// charge looks into what the cut would not free, and puts off the rest.
func (c *cut) charge(g *goHeap) func(*attribute.Node, attribute.Claim) {
	c.heap = g
	return func(n *attribute.Node, claim attribute.Claim) {
		if claim.Kind != attribute.KindEntries && c.freed(claim) {
			c.later = append(c.later, laterClaim{n, claim})
			return
		}
		g.charged(n, claim)
	}
}

// objects looks into what was put off.
func (c *cut) objects(f *finder) error {
	for _, l := range c.later {
		c.heap.charged(l.node, l.claim)
	}
	c.heap.walkParts()
	return f.mem.Broken()
}

// counts reports whether the words of a package variable have their turn, which is nil if it has no
// name.
func (c *cut) counts(g *debuginfo.Global) bool {
	return c.after == (g != nil && c.variables[g.Name])
}
