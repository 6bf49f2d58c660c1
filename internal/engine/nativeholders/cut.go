package nativeholders

import (
	"errors"

	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/retain"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
)

// A cut is what is taken out of a program: first all else there is leads to its blocks, then the cut
// to the others.
type cut struct {
	cuts  func(p *Place, path string) bool
	freed func(attribute.Claim) bool
	paths attribute.Paths
	after bool // all else has had its turn
	sum   Sum  // what the cut leads to
}

// A Cut says what is to be cut: all at once.
type Cut struct {
	Node  func(n *attribute.Node, path string) bool // given nodes with their paths in a folded report
	Place func(p *Place, path string) bool          // given places of Go's words, so that these lead nowhere
	// nodes stand for their objects, which are dropped, also those of roots, whose variables are
	// cleared otherwise
	AsObjects bool
}

var errUnread = errors.New("not all memory was read that may lead to them, too")

// FindFreed finds the blocks that a cut would leave without a reference: those that nothing leads to
// but the places that are cut, and what the cut would free of Go's heap. What only looks like an
// address may hold a block, so that there are as many at least. It takes about three scans with what
// they retain, and errors are those of Find.
func FindFreed(s *snapshot.Snapshot, c *Cut) (sum Sum, err error) {
	defer snapshot.Guard(&err)()
	f, err := open(s)
	if err != nil {
		return sum, err
	}
	paths := make(attribute.Paths)
	_, retained := retain.Run(f.heap, f.program, nil)
	defer retained.Release()
	freed, release := retained.Freed(func(n *attribute.Node) bool { return c.Node(n, paths.Of(n)) }, c.AsObjects)
	if freed == nil {
		return sum, &snapshot.Unavailable{Cause: "what is retained by what is too complex to be told apart"}
	}
	defer release()
	f.cut = &cut{cuts: c.Place, freed: freed, paths: paths}
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

// takes reports whether a place leads nowhere, since it is cut.
func (c *cut) takes(p *Place) bool {
	return c != nil && !c.after && p.Kind == Go && c.cuts(p, p.name(c.paths))
}

// charge leaves out what the cut would free.
func (c *cut) charge(charged func(*attribute.Node, attribute.Claim)) func(*attribute.Node, attribute.Claim) {
	return func(n *attribute.Node, claim attribute.Claim) {
		if claim.Kind == attribute.KindEntries || !c.freed(claim) {
			charged(n, claim)
		}
	}
}
