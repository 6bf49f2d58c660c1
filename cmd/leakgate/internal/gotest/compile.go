package gotest

import "slices"

// binaryFlags are the flags of go test that a test binary takes with the prefix "test.". Those with
// a value need it after "=".
var binaryFlags = []string{"short", "cpu", "parallel", "fullpath", "skip"}

// CompileArgs returns the flags of the invocation for "go test -c", which keep the debug
// information, and the flags to run its binary with.
func (inv *Invocation) CompileArgs() (build, binary []string) {
	all := *inv
	all.Debug = nil
	build = all.ldflags()
	if tags := inv.tags(); tags != "" {
		build = append(build, "-tags="+tags)
	}
	if inv.Race {
		build = append(build, "-race")
	}
	if inv.AllocSites {
		binary = append(binary, "-test.memprofilerate=1")
	}
	for i, arg := range inv.Passthrough.Args {
		name, _, _ := splitFlag(arg)
		switch {
		case name == "args":
			return build, append(binary, inv.Passthrough.Args[i+1:]...)
		case slices.Contains(binaryFlags, name):
			binary = append(binary, "-test."+trimDashes(arg))
		default:
			build = append(build, arg)
		}
	}
	return build, binary
}

// trimDashes returns a flag without its dashes.
func trimDashes(arg string) string {
	for len(arg) > 0 && arg[0] == '-' {
		arg = arg[1:]
	}
	return arg
}
