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
}
