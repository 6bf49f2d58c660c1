package twin

import "github.com/leakgate/leakgate/internal/engine/memory/remedy"

// Unavailable says why a program's debug information can neither be read nor built.
type Unavailable = remedy.Unavailable

// remedyFlags is the remedy that works for every test.
const remedyFlags = "run go test with -ldflags='-s=0 -w=0', or use leakgate run, which does"
