package twin

import "os"

// startEnviron is the environment when this package was initialized. A test may change the
// environment later.
var startEnviron = os.Environ()

// process is a running go test.
type process struct {
	exe  string
	args []string
	dir  string // its working folder, after -C

	// the test binary that it runs, if this process runs a copy of it, as testscript's commands do
	original string
}
