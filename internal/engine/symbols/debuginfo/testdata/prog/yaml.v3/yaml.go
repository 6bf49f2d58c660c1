// Package yaml has a name that is not the last element of its import path.
package yaml

// Table keeps something.
var Table = map[string]*int{"a": new(int)}
