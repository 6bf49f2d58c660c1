//go:build leakgate

package leakcheck

import (
	"errors"
	"io"

	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/stackprof"
)

func init() {
	newHolderSearch = func() holderSearch { return &elsewhere{} }
	saveMore = func(a *artifactFolder, o *outcome) error {
		err := a.save("stack.pb.gz", writeStacks)
		if o.eval != nil && recordsAllocations(o.eval.obs.report.Roots) {
			err = errors.Join(err, a.save("allocations.pb.gz", o.eval.obs.report.WriteAllocationProfile))
		}
		return err
	}
}

func writeStacks(w io.Writer) error {
	p, err := stackprof.Take()
	if err == nil {
		_, err = p.WriteTo(w)
	}
	return err
}

// recordsAllocations reports whether it is known of any object where it was allocated.
func recordsAllocations(nodes []*refscan.Node) bool {
	for _, n := range nodes {
		if len(n.Allocations) > 0 || recordsAllocations(n.Children) {
			return true
		}
	}
	return false
}
