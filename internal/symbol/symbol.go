package symbol

import (
	"runtime"
	"strings"
)

// Short removes the folders of the import path from a name: "example.com/app.T" becomes "app.T". If
// the path ends in a module's version ("example.com/app/v2.T"), which is seldom the package's name,
// the element before it remains.
func Short(name string) string {
	last := LastElement(name)
	slash := len(name) - len(last) - 1
	element, _, _ := strings.Cut(last, ".")
	element = strings.TrimSuffix(element, "_test")
	if slash < 0 || len(element) < 2 || element[0] != 'v' || element == "v1" || strings.Trim(element[1:], "0123456789") != "" {
		return last
	}
	return name[strings.LastIndexByte(name[:slash], '/')+1:slash] + last[len(element):]
}

// IsShaped reports whether a type or function is known by the shape of its type arguments only.
func IsShaped(name string) bool { return strings.Contains(name, "go.shape.") }

// IsDictionary reports whether a variable's type is that of a pointer to a dictionary of shaped
// code.
func IsDictionary(typeName string) bool {
	return strings.HasPrefix(typeName, "*[") && strings.HasSuffix(typeName, "]uintptr")
}

// toolModule and toolPackages name the packages of this module that a test binary links. Packages
// below them count, too.
const toolModule = "github.com/leakgate/leakgate/"

var toolPackages = []string{"leakcheck", "refscan", "golden", "stackprof", "internal"}

// RecordingBatch is the function of the growth assertion during which the memory profiler records
// each allocation. It is on the stacks of all allocations that are recorded then, except those of
// goroutines that the operation starts. That distinguishes samples that stand for one object from
// samples that stand for many.
const RecordingBatch = toolModule + "leakcheck/internal/growth.(*Experiment).recordBatch"

// IsTool reports whether a package is one of this module's that end up in users' test binaries. The
// memory of such packages is left out of reports. Packages of this module's own tests are none of
// them.
func IsTool(pkg string) bool {
	rest, ok := strings.CutPrefix(pkg, toolModule)
	if !ok || strings.HasSuffix(pkg, "_test") || strings.HasPrefix(rest, "internal/testkit/") {
		return false
	}
	for _, p := range toolPackages {
		if rest == p || strings.HasPrefix(rest, p+"/") {
			return true
		}
	}
	return false
}

// CallerFrames resolves a stack of return addresses of this process, the innermost first. It leaves
// out the runtime's functions at its inner end, such as the allocator, and ends before
// runtime.goexit.
func CallerFrames(pcs []uintptr) (frames []runtime.Frame) {
	if len(pcs) == 0 {
		return nil
	}
	for next := runtime.CallersFrames(pcs); ; {
		f, more := next.Next()
		if f.Function == "runtime.goexit" {
			return frames
		}
		if f.Function != "" && (len(frames) > 0 || !IsRuntime(Package(f.Function))) {
			frames = append(frames, f)
		}
		if !more {
			return frames
		}
	}
}

// IsRuntime reports whether a package is part of the Go runtime. Names without a package, "", are
// the runtime's or the compiler's own.
func IsRuntime(pkg string) bool {
	return pkg == "" || pkg == "runtime" || strings.HasPrefix(pkg, "internal/runtime/") ||
		strings.HasPrefix(pkg, "runtime/internal/")
}

// IsIdentifier reports whether a name may be an identifier of Go. It does not tell keywords.
func IsIdentifier(name string) bool {
	for i := range len(name) {
		if !IsWord(name[i]) {
			return false
		}
	}
	return name != "" && (name[0] < '0' || name[0] > '9')
}

// IsWord reports whether a byte may be part of an identifier, keyword or number of Go.
func IsWord(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
