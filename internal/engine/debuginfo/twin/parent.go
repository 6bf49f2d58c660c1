package twin

import "os"

// startEnviron is the environment when this package began. A test may change it later.
var startEnviron = os.Environ()

// process is a running go test.
type process struct {
	exe  string
	args []string
	dir  string // where it runs: after -C
}
