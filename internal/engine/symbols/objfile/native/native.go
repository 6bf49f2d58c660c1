// Package native reads executables in the format of the system that it was compiled for.
package native

import "github.com/leakgate/leakgate/internal/engine/symbols/objfile"

// Open opens an executable of this system.
func Open(path string) (*objfile.File, error) { return objfile.Open(path, read) }
