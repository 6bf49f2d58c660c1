//go:build !amd64 && !arm64

package alloc

import "github.com/leakgate/leakgate/internal/alloccode"

// ownMachine is the machine of this program; nil if its code is not known.
var ownMachine func() *alloccode.Machine
