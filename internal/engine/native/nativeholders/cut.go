package nativeholders

import (
	"errors"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/retain"
)

// A cut is the state of FindFreed: first everything else gets the blocks that it leads to, then the
// cut gets the others.
type cut struct {
	cuts  func(p *Place, path string) bool
	freed func(attribute.Claim) bool
	paths attribute.Paths
	after bool // everything else has had its turn
	sum   Sum  // blocks that only the cut leads to
}

// A Cut tells FindFreed what to cut, all of it at once.
type Cut struct {
	// whether to cut a node, given its path in a folded report
	Node func(n *attribute.Node, path string) bool
	// whether to cut a place of Go's words, so that they lead nowhere
	Place func(p *Place, path string) bool
	// cut nodes lose their objects; otherwise the variables of nodes that are roots are cleared
	AsObjects bool
}

var errUnread = errors.New("not all memory was read that may lead to them, too")

// FindFreed finds the blocks that a cut would leave without a reference: only the places that are
// cut, and what the cut would free of Go's heap, lead to them. A word that only looks like an
// address may hold a block, so the sum is a lower bound. It takes about three scans with what they
// retain. Errors are those of Find.
func FindFreed(s *snapshot.Snapshot, c *Cut) (sum Sum, err error) {
	defer snapshot.Guard(&err)()
	f, err := open(s)
	if err != nil {
		return sum, err
	}
	return f.freed(c)
}

func (f *finder) freed(c *Cut) (sum Sum, err error) {
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

// takes reports whether the words at a place lead nowhere, since the place is cut.
func (c *cut) takes(p *Place) bool {
	return c != nil && !c.after && p.Kind == Go && c.cuts(p, p.name(c.paths))
}

// charge wraps charged, and leaves out claims that the cut would free.
func (c *cut) charge(charged func(*attribute.Node, attribute.Claim)) func(*attribute.Node, attribute.Claim) {
	return func(n *attribute.Node, claim attribute.Claim) {
		if claim.Kind == attribute.KindEntries || !c.freed(claim) {
			charged(n, claim)
		}
	}
}
