//go:build windows

package native

import "github.com/leakgate/leakgate/internal/engine/objfile/pefile"

// Format is what executables of this system are called.
const Format = "64-bit PE"

var read = pefile.New
