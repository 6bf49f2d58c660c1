// Package environ describes the process and the test that an assertion runs in.
package environ

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
)

// IsProgram reports whether a package is the program's or a module's, not the standard library's or
// this tool's.
func (e *Environment) IsProgram(pkg string) bool {
	return !e.Modules.IsStandard(pkg) && !symbol.IsTool(pkg)
}

// An Environment describes the process that an assertion runs in.
type Environment struct {
	// the package's folder: "go test" starts the binary there, and tests may leave it
	Dir         string
	DirErr      error
	PackagePath string // of the package under test
	ModulePath  string // of its module, "" outside of one
	NoBuildInfo bool   // the program does not say of which modules it was built
	Service     bool   // assertions are about a process whose main package counts as the module's
	Modules     *symbol.Modules
	Ci          bool   // CI is set: nothing is written unless asked for
	Strict      bool   // LEAKGATE_STRICT: an unknown verdict fails the test
	Full        bool   // LEAKGATE_FULL: every snapshot is scanned
	Verbose     bool   // -test.v: the log says what proved a pass
	Artifacts   string // LEAKGATE_ARTIFACTS
	Undeclared  string // TEST_UNDECLARED_OUTPUTS_DIR, which Bazel sets
	Every       bool   // artifacts are kept of assertions that pass, too
	NoExamples  bool   // LEAKGATE_EXAMPLES is off: messages show no contents of objects
	// LEAKGATE_GOLDENS: where golden files are, instead of in the package's folder
	Goldens string
	// LEAKGATE_SUPPRESSED: patterns of paths that claim last in AssertNoGrowth, and count
	Suppressed []string
	// LEAKGATE_MEASURE: golden files are to be measured, not compared or written
	Measure       bool
	Native        string // LEAKGATE_NATIVE
	Update        bool
	UpdateProblem string
	Partial       bool   // -run, -skip or Bazel's shards leave tests out
	Benchmarks    bool   // -bench: benchmarks run after the tests
	TestLog       string // -test.testlogfile: where the go command reads what the tests looked at
	Selected      Selection
	Alone         string // LEAKGATE_ALONE
	Repeat        bool   // leakgate run -auto repeats tests in this process
	// the process runs no tests by itself: it lists them, or works for a fuzzing process
	NoTests bool

	AllAllocations bool // the memory profiler records each allocation, as with -memprofilerate=1
	MemProfile     bool // go test is to write a profile of the memory profiler's records

	// where a package variable is declared; nil: unknown
	Declared func(variable string) (file string, line int)
}

// startDir is read before any test changes the folder.
var startDir, startDirErr = os.Getwd()

// StartArgs are the arguments of this process, before any test changes them.
var StartArgs = slices.Clone(os.Args[min(1, len(os.Args)):])

// RunsAlone returns the environment variable of a process that runs one test alone.
func RunsAlone(dir string) string { return envvar.Alone.Set(dir) }

// A Selection says which tests of a package run.
type Selection struct {
	Run  string // the pattern of -run
	Once bool   // each runs once: neither -count nor -cpu repeats them
}

// CurrentEnvironment reads environment variables and flags at each call: tests set them.
func CurrentEnvironment() *Environment {
	e := &Environment{
		Dir: startDir, DirErr: startDirErr,
		Ci:         isSet(os.Getenv("CI")),
		Strict:     isSet(envvar.Strict.Value()),
		Full:       isSet(envvar.Full.Value()),
		Artifacts:  envvar.Artifacts.Value(),
		Undeclared: os.Getenv("TEST_UNDECLARED_OUTPUTS_DIR"),
		Every:      isSet(envvar.ArtifactsAll.Value()),
		NoExamples: isOff(envvar.Examples.Value()),
		Goldens:    envvar.Goldens.Value(),
		Suppressed: strings.Fields(envvar.Suppressed.Value()),
		Measure:    isSet(envvar.Measure.Value()),
		Native:     envvar.Native.Value(),
		Alone:      envvar.Alone.Value(),
		Repeat:     envvar.Repeat.Value() != "",

		AllAllocations: runtime.MemProfileRate == 1,
	}
	if e.PackagePath, e.ModulePath = naming.BuildPaths(); e.PackagePath == "" {
		e.PackagePath, e.NoBuildInfo = packageOnStack(), true
	}
	e.Modules = symbol.OwnModules()
	e.Update, e.UpdateProblem = UpdateAsked()
	e.Partial = flagText("test.run") != "" || flagText("test.skip") != "" || isSharded(os.Getenv("TEST_TOTAL_SHARDS"))
	e.Selected = Selection{Run: flagText("test.run"), Once: flagText("test.count") == "1" && !strings.Contains(flagText("test.cpu"), ",")}
	e.Benchmarks = flagText("test.bench") != ""
	e.TestLog = flagText("test.testlogfile")
	e.MemProfile = flagText("test.memprofile") != ""
	e.Verbose = isSet(flagText("test.v"))
	e.NoTests = flagText("test.list") != "" || flagText("test.fuzzworker") == "true"
	return e
}

// flagText returns the value of a flag, "" if there is no such flag.
func flagText(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// isSet returns true for any value but "", "0" and "false", as CI systems do.
func isSet(value string) bool {
	on, err := strconv.ParseBool(value)
	return value != "" && (on || err != nil)
}

// isOff reports whether a variable turns off what is done without it: any value does that does not
// say that it be done.
func isOff(value string) bool {
	on, _ := strconv.ParseBool(value)
	return value != "" && !on && strings.ToLower(value) != "on"
}

// isSharded returns true if the number of processes that Bazel spreads the tests of a package over
// is more than one.
func isSharded(shards string) bool {
	n, err := strconv.Atoi(shards)
	return err == nil && n > 1
}

// ModuleUnderTest returns the packages of the module under test, or only the package under test
// where it is in no module (files named on the command line).
func (e *Environment) ModuleUnderTest() []naming.Packages {
	text := e.PackagePath
	if e.ModulePath != "" {
		text = e.ModulePath + "/..."
	}
	ps, err := naming.CompileScope(text)
	if err != nil {
		return nil
	}
	for i := range ps {
		ps[i].Anchored = true
	}
	all := []naming.Packages{ps}
	if e.Service {
		main, _ := naming.CompileScope("main")
		all = append(all, main)
	}
	return all
}

// GoldenPath returns the path of a golden file, relative to the package's folder and in full. With
// LEAKGATE_GOLDENS, shown begins with the name of that folder instead.
func (e *Environment) GoldenPath(file string) (shown, full string) {
	if e.Goldens != "" {
		full = filepath.Join(e.Goldens, filepath.FromSlash(LocalPath(e.PackagePath)), filepath.FromSlash(file))
		return filepath.Base(e.Goldens) + "/" + e.PackagePath + "/" + filepath.ToSlash(file), full
	}
	shown = "testdata/leakcheck/" + filepath.ToSlash(file)
	return shown, filepath.Join(e.Dir, filepath.FromSlash(shown))
}

// PackageFolder returns the source folder of the package under test, and whether the process was
// started there, as go test does: a binary that go test -c made can run anywhere. It looks on the
// stack for a function of the package's _test.go files, which calls the assertion. isHere is true
// if that function's file exists where the process was started, or if no such function is on the
// stack. A binary that was built with -trimpath does not know the folder.
func (e *Environment) PackageFolder() (folder string, isHere bool) {
	if e.PackagePath == "" {
		return "", true
	}
	for pkg, file := range testsOnStack {
		if pkg == e.PackagePath {
			if filepath.IsAbs(file) {
				folder = filepath.Dir(file)
			}
			_, err := os.Stat(filepath.Join(e.Dir, filepath.Base(file)))
			return folder, folder == e.Dir || err == nil
		}
	}
	return "", true
}

// packageOnStack returns the import path of the package under test where the program has no build
// information, as rules_go and other build systems link it. Functions of _test.go files belong to
// that package, and one of them calls the assertion. It returns "" if none is on the stack.
func packageOnStack() string {
	for pkg := range testsOnStack {
		return pkg
	}
	return ""
}

// testsOnStack yields the functions of _test.go files on the stack, innermost first: the import
// path of the package that they test, and the file as the compiler recorded it.
func testsOnStack(yield func(pkg, file string) bool) {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasSuffix(f.File, "_test.go") && !yield(strings.TrimSuffix(symbol.Package(f.Function), "_test"), f.File) {
			return
		}
	}
}

// ShortFile shortens a source file's name as the compiler recorded it. A file near the package's
// folder becomes relative to it. A file of the module cache or the standard library becomes
// relative to that.
func (e *Environment) ShortFile(file string) string {
	slashed := filepath.ToSlash(file)
	if i := strings.LastIndex(slashed, "/pkg/mod/"); i >= 0 {
		slashed = slashed[i+len("/pkg/mod/"):]
		if toolchain, library, ok := strings.Cut(slashed, "/src/"); ok && strings.HasPrefix(toolchain, "golang.org/toolchain@") {
			return library
		}
		return slashed
	}
	const library = "/go/src/"
	if i := strings.LastIndex(slashed, library); i >= 0 && !strings.Contains(filepath.ToSlash(e.Dir), library) {
		return slashed[i+len(library):] // even if it is near: a checkout in a container may be at the root
	}
	if !filepath.IsAbs(file) && !strings.HasPrefix(slashed, "/") { // built elsewhere for Windows
		if inside, ok := strings.CutPrefix(slashed, e.PackagePath+"/"); ok && !strings.Contains(inside, "/") {
			return inside // built with -trimpath
		}
		return slashed
	}
	if e.Dir == "" {
		return slashed
	}
	dir := filepath.ToSlash(e.Dir)
	if !filepath.IsAbs(file) {
		dir = dir[len(filepath.VolumeName(dir)):]
	}
	if near, ok := relative(dir, slashed); ok {
		return near
	}
	if i := strings.LastIndex(slashed, "/src/"); i >= 0 {
		return slashed[i+len("/src/"):]
	}
	return slashed
}

// maxUp is how many folders above the package's a file counts as near.
const maxUp = 3

// relative returns the path, with slashes, from a folder to a file at most maxUp folders up.
func relative(dir, file string) (string, bool) {
	rel, err := filepath.Rel(dir, file)
	rel = filepath.ToSlash(rel)
	return rel, err == nil && rel != "." && !strings.HasPrefix(rel, strings.Repeat("../", maxUp+1))
}

// Place formats a file and line for a message, "" if the file is unknown.
func (e *Environment) Place(file string, line int) string {
	if file == "" {
		return ""
	}
	if line <= 0 {
		return e.ShortFile(file)
	}
	return fmt.Sprintf("%s:%d", e.ShortFile(file), line)
}

// updateFlag has a name of its own: a library that registers -update breaks each package that
// declares one.
var updateFlag = flag.Bool("leakcheck.update", false, "rewrite the golden files of leakcheck assertions that differ")

// UpdateAsked reports whether golden files are to be rewritten: LEAKGATE_UPDATE, -leakcheck.update,
// or a boolean flag -update, be it the package's own or VerifyTestMain's.
func UpdateAsked() (asked bool, problem string) {
	if v, name := envvar.Update.Lookup(); v != "" {
		on, err := strconv.ParseBool(v)
		if err != nil {
			return false, fmt.Sprintf("%s=%q: want 1 to rewrite golden files, or 0", name, v)
		}
		if on {
			return true, ""
		}
	}
	if *updateFlag {
		return true, ""
	}
	f := flag.Lookup("update")
	if f == nil {
		return false, ""
	}
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); !ok || !b.IsBoolFlag() {
		return false, ""
	}
	on, err := strconv.ParseBool(f.Value.String())
	return err == nil && on, ""
}

// RegisterUpdate declares -update unless the package has done so.
func RegisterUpdate() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "rewrite golden files that differ")
	}
}

// PlaceOf shortens the file in a "file:line".
func (e *Environment) PlaceOf(fileLine string) string {
	i := strings.LastIndexByte(fileLine, ':')
	if i < 0 {
		return fileLine
	}
	return e.ShortFile(fileLine[:i]) + fileLine[i:]
}

// MentionsProgram reports whether a type is, or is made of, a type that is not the standard
// library's.
func (e *Environment) MentionsProgram(typ string) bool {
	for pkg := range naming.NamedTypes(typ) {
		if !e.Modules.IsStandard(pkg) {
			return true
		}
	}
	return false
}
