package twin

import (
	"slices"
	"strings"
)

// The flags of go test, from go1.26 go help build and go help testflag; 1.27 has no others.
const (
	// buildSwitches change what is built and take no value, or one after "=" only (-race=false,
	// -buildvcs=auto).
	buildSwitches = "asan buildvcs cover linkshared modcacherw msan race trimpath"

	// buildValues change what is built and take a value.
	buildValues = "asmflags buildmode compiler covermode coverpkg fuzz gccgoflags gcflags installsuffix ldflags mod modfile " +
		"overlay pgo pkgdir tags toolexec"

	// otherValues take a value and change nothing in the build. They must be known, so that the
	// value is not taken for a flag or a file.
	otherValues = "C bench benchtime blockprofile blockprofilerate count coverprofile cpu cpuprofile debug-actiongraph " +
		"debug-runtime-trace debug-trace exec fuzzminimizetime fuzztime list memprofile memprofilerate mutexprofile " +
		"mutexprofilefraction o outputdir p parallel run shuffle skip timeout trace vet"
)

func isOneOf(names, name string) bool { return slices.Contains(strings.Fields(names), name) }

// goTest holds the parts of a go test command line that matter for the build.
type goTest struct {
	flags []string // build flags, as -name=value or -name
	files []string // source files, if they were named instead of packages
}

// parseGoTest reads the arguments of go, from the command's name on.
func parseGoTest(args []string) goTest {
	var cmd goTest
	rest := args[min(1, len(args)):]
	for len(rest) > 0 && rest[0] != "test" { // go -C dir test
		skip := 1
		if rest[0] == "-C" || rest[0] == "--C" {
			skip = 2
		}
		rest = rest[min(skip, len(rest)):]
	}
	for i := 1; i < len(rest); i++ {
		arg := rest[i]
		name, isFlag := flagName(arg)
		if !isFlag {
			if strings.HasSuffix(arg, ".go") {
				cmd.files = append(cmd.files, arg)
			}
			continue
		}
		if name == "args" {
			break
		}
		name, value, hasValue := strings.Cut(name, "=")
		name = strings.TrimPrefix(name, "test.")
		takes := isOneOf(buildValues, name)
		builds := takes || isOneOf(buildSwitches, name)
		if !hasValue && (takes || isOneOf(otherValues, name)) && i+1 < len(rest) {
			i++
			value, hasValue = rest[i], true
		}
		switch {
		case name == "coverprofile":
			cmd.flags = append(cmd.flags, "-cover") // -coverprofile implies -cover
		case builds && hasValue:
			cmd.flags = append(cmd.flags, "-"+name+"="+value)
		case builds:
			cmd.flags = append(cmd.flags, "-"+name)
		}
	}
	return cmd
}

func flagName(arg string) (string, bool) {
	if len(arg) < 2 || arg[0] != '-' {
		return "", false
	}
	return strings.TrimPrefix(arg[1:], "-"), true
}

// keepDebug changes the linker's flags so that debug information stays. If the user gave none,
// nothing changes: go test -c keeps debug information. The program records the user's flags, so a
// longer or shorter text would move its data. So -s and -w are replaced by a flag of the same
// length that has no effect here: -f, "ignore version mismatch" (go1.26 and 1.27
// cmd/link/internal/ld/main.go).
func keepDebug(flags []string, goflags string) []string {
	out := make([]string, 0, len(flags)+1)
	own := false
	for _, f := range flags {
		if value, ok := strings.CutPrefix(f, "-ldflags="); ok {
			own = true
			f = "-ldflags=" + replaceStrip(value)
		}
		out = append(out, f)
	}
	if own {
		return out
	}
	for _, f := range splitGOFLAGS(goflags) {
		if name, ok := flagName(f); ok {
			if value, ok := strings.CutPrefix(name, "ldflags="); ok && replaceStrip(value) != value {
				out = append(out, "-ldflags="+replaceStrip(value))
			}
		}
	}
	return out
}

// replaceStrip replaces -s and -w by -f where they are separate flags and not turned off.
func replaceStrip(ldflags string) string {
	b := []byte(ldflags)
	for i := 0; i+1 < len(b); i++ {
		if b[i] != '-' || i > 0 && !strings.ContainsRune(" \t\n'\"=-", rune(b[i-1])) {
			continue
		}
		rest := string(b[i+2:])
		on := rest == "" || strings.ContainsRune(" \t\n'\"", rune(rest[0]))
		for _, yes := range []string{"=1", "=t", "=T", "=true", "=TRUE", "=True"} {
			after, ok := strings.CutPrefix(rest, yes)
			on = on || ok && (after == "" || strings.ContainsRune(" \t\n'\"", rune(after[0])))
		}
		if on && (b[i+1] == 's' || b[i+1] == 'w') {
			b[i+1] = 'f'
		}
	}
	return string(b)
}

// splitGOFLAGS splits a GOFLAGS value as the go command does: at spaces, with quotes around a whole
// flag, without escapes (go1.26 cmd/internal/quoted).
func splitGOFLAGS(s string) []string {
	var out []string
	for s = strings.TrimLeft(s, " \t\n\r"); s != ""; s = strings.TrimLeft(s, " \t\n\r") {
		if s[0] == '\'' || s[0] == '"' {
			if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
				out = append(out, s[1:1+end])
				s = s[2+end:]
				continue
			}
		}
		end := strings.IndexAny(s, " \t\n\r")
		if end < 0 {
			end = len(s)
		}
		out = append(out, s[:end])
		s = s[end:]
	}
	return out
}
