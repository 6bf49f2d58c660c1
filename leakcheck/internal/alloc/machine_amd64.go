package alloc

import "github.com/leakgate/leakgate/internal/alloccode"

// ownMachine is the one that this program is for; nil if its code is not known.
var ownMachine = alloccode.AMD64
