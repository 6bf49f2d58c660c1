//go:build windows

package native

import "github.com/leakgate/leakgate/internal/engine/symbols/objfile/anyfile"

// Format is the name of this system's executable format.
const Format = "64-bit PE"

var read = anyfile.ReadPE
