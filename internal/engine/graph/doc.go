// Package graph is the wing that says who holds what. In goes the typed heap, out come the roots
// (root), a tree of what is charged to each (attribute), what a root holds whoever else does
// (holding), what cutting a reference would free (retain, dominance), and paths to objects
// (pathfind).
//
// It uses memory, symbols, runtime and heap.
package graph
