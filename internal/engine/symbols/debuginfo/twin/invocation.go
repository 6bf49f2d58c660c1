package twin

import (
	"path/filepath"
	"runtime/debug"
	"strings"
)

// invocation is how to run the go command so that it builds the same test.
type invocation struct {
	goTool   string
	tools    []string // where the go command may be, best first
	dir      string   // where to run it
	env      []string
	flags    []string
	packages []string // an import path, or source files
}

// newInvocation works out how the running test was built. The go test process that runs the test
// knows all flags, as long as it is there. Otherwise the build information has to do, which lacks
// -cover, -covermode, -coverpkg, -mod and others.
func newInvocation(info *debug.BuildInfo) (*invocation, error) {
	inv := &invocation{dir: startDir, env: initialEnviron()}
	path, _ := testedPackage(info)
	inv.packages = []string{path}
	flags := settingsFlags(info)
	if p, ok := findGoTest(); ok {
		cmd := parseGoTest(p.args)
		flags = cmd.flags
		inv.dir = p.dir
		inv.tools = append(inv.tools, p.exe)
		if path == commandLineArguments {
			inv.packages = cmd.files
		}
	}
	switch {
	case inv.dir == "":
		return nil, &Unavailable{
			Cause:  "the test has no debug information, and the folder it was started in is not known",
			Remedy: "run it with go test in its source tree",
			Err:    errStartDir,
		}
	case path == commandLineArguments && !hasFiles(inv.packages):
		return nil, &Unavailable{
			Cause:  "the test has no debug information, and which files it was built from is not known",
			Remedy: "name the package instead of its files, or " + remedyFlags,
		}
	}
	inv.flags = keepDebug(flags, lookup(inv.env, "GOFLAGS"))
	inv.env = append(inv.env, settingsEnv(info)...)
	return inv, nil
}

// commandLineArguments is the go command's name for a package that is given as a list of files.
const commandLineArguments = "command-line-arguments"

func hasFiles(packages []string) bool {
	return len(packages) > 0 && strings.HasSuffix(packages[0], ".go")
}

// settingsFlags are the build flags in the build information (go1.26 cmd/go/internal/load/pkg.go,
// setBuildInfo).
func settingsFlags(info *debug.BuildInfo) []string {
	var flags []string
	for _, s := range info.Settings {
		switch {
		case !strings.HasPrefix(s.Key, "-") || s.Value == "":
		case s.Key == "-compiler" && s.Value == "gc", s.Key == "-buildmode" && s.Value == "exe":
			// The defaults. They are left out because naming them can conflict with other flags.
		default:
			flags = append(flags, s.Key+"="+s.Value)
		}
	}
	return flags
}

// settingsEnv are the environment variables in the build information. An empty value means that the
// variable was not set: setting it to "" would mean something else (CGO_CFLAGS has a default).
func settingsEnv(info *debug.BuildInfo) []string {
	var env []string
	for _, s := range info.Settings {
		if s.Value == "" {
			continue
		}
		switch {
		case strings.HasPrefix(s.Key, "CGO_"), strings.HasPrefix(s.Key, "GO") && isUpper(s.Key):
			env = append(env, s.Key+"="+s.Value)
		}
	}
	return env
}

// isUpper reports whether a key is written as environment variables are.
func isUpper(key string) bool {
	for i := range len(key) {
		if 'a' <= key[i] && key[i] <= 'z' {
			return false
		}
	}
	return true
}

// lookup returns the value of a variable in an environment; its last definition counts.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// without drops variables from an environment.
func without(env []string, drop func(name string) bool) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if !drop(name) {
			out = append(out, kv)
		}
	}
	return out
}

// isGoCommand reports whether an executable's name is that of the go command.
func isGoCommand(exe string) bool {
	name := filepath.Base(exe)
	return name == "go" || name == "go.exe"
}
