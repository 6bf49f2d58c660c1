// Package dep is a dependency whose import path has a dot in its last element.
package dep

// Options is embedded in another package's type.
type Options struct{ Level *int }

// Levels is a package variable.
var Levels = []*int{new(int)}

// Default returns options.
func Default() Options { return Options{Level: Levels[0]} }
