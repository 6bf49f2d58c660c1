//go:build windows

package native

import "github.com/leakgate/leakgate/internal/engine/symbols/objfile/pefile"

// Format is the name of this system's executable format.
const Format = "64-bit PE"

var read = pefile.New
