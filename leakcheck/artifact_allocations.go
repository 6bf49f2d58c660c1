//go:build leakgate

package leakcheck

import "github.com/leakgate/leakgate/refscan"

func init() {
	saveAllocations = func(a *artifactFolder, r *refscan.Report) error {
		if !recordsAllocations(r.Roots) {
			return nil
		}
		return a.save("allocations.pb.gz", r.WriteAllocationProfile)
	}
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
