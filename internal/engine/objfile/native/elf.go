//go:build !windows && !darwin

package native

import "github.com/leakgate/leakgate/internal/engine/objfile/elffile"

// Format is what executables of this system are called.
const Format = "64-bit ELF"

var read = elffile.New
