package twin

import "github.com/leakgate/leakgate/internal/engine/remedy"

// Unavailable says why a program's debug information cannot be had.
type Unavailable = remedy.Unavailable

// remedyFlags is the way out that works for every test.
const remedyFlags = "run go test with -ldflags='-s=0 -w=0', or use leakgate run, which does"
