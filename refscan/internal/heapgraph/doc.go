// Package heapgraph turns the runtime model of a frozen process into an account of what keeps which
// objects alive. It works in three passes, so that no result depends on the order of visits:
//
//  1. Mark (mark.go) finds the reachable objects from the runtime's own roots and pointer masks,
//     exactly as the collector would. This set is the truth.
//  2. Infer (infer.go) spreads types over the marked objects until nothing improves. The best founded,
//     largest typing of an object wins, whoever found it first.
//  3. Attribute (attribute.go) charges every object once, breadth first, to the root and path that
//     reach it soonest; ties go by root order, then by the order of references in their holder.
//
// Addresses decide nothing: objects are grouped before they are charged, and groups are ordered by
// names.
package heapgraph
