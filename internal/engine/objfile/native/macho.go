//go:build darwin

package native

import "github.com/leakgate/leakgate/internal/engine/objfile/machofile"

// Format is what executables of this system are called.
const Format = "64-bit Mach-O"

var read = machofile.New
