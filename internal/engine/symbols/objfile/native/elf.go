//go:build !windows && !darwin

package native

import "github.com/leakgate/leakgate/internal/engine/symbols/objfile"

// Format is the name of this system's executable format.
const Format = "64-bit ELF"

var read = objfile.ReadELF
