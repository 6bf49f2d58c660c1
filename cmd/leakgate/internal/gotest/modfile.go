package gotest

import "slices"

// ForLoad returns the environment and the build flags for packages.Load in dir. It moves a -modfile
// from GOFLAGS to the build flags. packages.Load asks for the version of Go with modules off
// (golang.org/x/tools v0.52.0 internal/gocommand/version.go), and the go command refuses a -modfile
// then. It gives no build flags there.
//
// It runs one process (about 10 ms), since GOFLAGS may lie in the file that "go env -w" writes.
func ForLoad(dir string, env, buildFlags []string) (loadEnv, loadFlags []string) {
	e, err := ReadGoEnv(dir, env)
	if err != nil {
		return env, buildFlags // packages.Load says what is wrong
	}
	var kept, moved []string
	for _, field := range SplitQuoted(e.GOFLAGS) {
		if name, _, _ := splitFlag(field); name == "modfile" {
			moved = append(moved, field)
		} else {
			kept = append(kept, field)
		}
	}
	goflags, err := JoinQuoted(kept)
	if len(moved) == 0 || err != nil {
		return env, buildFlags
	}
	// A GOFLAGS that is empty would have the go command look into the file.
	return append(slices.Clip(env), "GOFLAGS= "+goflags), slices.Concat(moved, buildFlags)
}
