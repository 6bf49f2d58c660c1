// Package typing records for each object of a heap which type it has, how its memory is to be read,
// and how well founded that is. Endings tell from an object's memory that its use is over: that a
// file is closed, a context done, a timer stopped. What is still reachable then is suspect.
//
// It also models the data segments of a program: its package variables, and the data that the
// compiler made, with the collector's masks and the types of variables.
package typing

import "github.com/leakgate/leakgate/internal/engine/heap/heaptype"

// Typing is what is known of one object. It has no more than four fields, so that the compiler
// keeps it in registers.
type Typing struct {
	Type   int32  // index in the type table, 0 if unknown
	Offset uint32 // where in the object the typed part begins
	Layout heaptype.Layout
	Grounds
}

// Grounds are how well founded a typing is.
type Grounds struct {
	Confidence heaptype.Confidence
	Full       bool // the type accounts for every pointer of the object
}
