package leakcheck

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// An environment is what an assertion knows of the process it runs in.
type environment struct {
	dir           string // the package's folder: "go test" starts the binary there, and tests may leave it
	dirErr        error
	packagePath   string // of the package under test
	modulePath    string // of its module, "" outside of one
	ci            bool   // CI is set: nothing is written unless asked for
	strict        bool   // LEAKCHECK_STRICT: what could not be told fails the test
	artifacts     string // LEAKGATE_ARTIFACTS
	undeclared    string // TEST_UNDECLARED_OUTPUTS_DIR, which Bazel sets
	every         bool   // artifacts of assertions that pass, too
	goldens       string // LEAKCHECK_GOLDENS: where golden files are, instead of in the package's folder
	measure       bool   // LEAKCHECK_MEASURE: golden files are to be measured, not compared or written
	update        bool
	updateProblem string
	partial       bool // -run or -skip leave tests out
	noTests       bool // the process runs no tests by itself: it lists them, or works for a fuzzing process

	declared func(variable string) (file string, line int) // where a package variable is declared; nil: nobody knows
}

// The folder must be read before any test changes it.
var startDir, startDirErr = os.Getwd()

var buildPaths = sync.OnceValues(func() (pkg, module string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	return strings.TrimSuffix(info.Path, ".test"), info.Main.Path
})

// currentEnvironment reads variables and flags anew: tests set them.
func currentEnvironment() *environment {
	e := &environment{
		dir: startDir, dirErr: startDirErr,
		ci:         isSet(os.Getenv("CI")),
		strict:     isSet(os.Getenv("LEAKCHECK_STRICT")),
		artifacts:  os.Getenv(verdict.EnvArtifacts),
		undeclared: os.Getenv("TEST_UNDECLARED_OUTPUTS_DIR"),
		every:      isSet(os.Getenv(verdict.EnvEvery)),
		goldens:    os.Getenv(verdict.EnvGoldens),
		measure:    isSet(os.Getenv(verdict.EnvMeasure)),
	}
	e.packagePath, e.modulePath = buildPaths()
	e.update, e.updateProblem = updateAsked()
	e.partial = flagText("test.run") != "" || flagText("test.skip") != ""
	e.noTests = flagText("test.list") != "" || flagText("test.fuzzworker") == "true"
	return e
}

// flagText returns the value of a flag, "" if there is no such flag.
//
//go:noinline
func flagText(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// isSet takes any value but "", "0" and "false" for true, as CI systems do.
func isSet(value string) bool {
	on, err := strconv.ParseBool(value)
	return value != "" && (on || err != nil)
}

// moduleUnderTest returns the packages of the module under test, or only the package under test where it
// is in no module (files named on the command line).
func (e *environment) moduleUnderTest() []packages {
	text := e.packagePath
	if e.modulePath != "" {
		text = e.modulePath + "/..."
	}
	ps, err := compileScope(text)
	if err != nil {
		return nil
	}
	for i := range ps {
		ps[i].anchored = true
	}
	return []packages{ps}
}

// goldenPath returns the place of a golden file, relative to the package's folder and in full. Where
// another directory stands for that, shown begins with its name.
func (e *environment) goldenPath(file string) (shown, full string) {
	if e.goldens != "" {
		full = filepath.Join(e.goldens, filepath.FromSlash(localPath(e.packagePath)), filepath.FromSlash(file))
		return filepath.Base(e.goldens) + "/" + e.packagePath + "/" + filepath.ToSlash(file), full
	}
	shown = "testdata/leakcheck/" + filepath.ToSlash(file)
	return shown, filepath.Join(e.dir, filepath.FromSlash(shown))
}

// shortFile shortens a source file's name as the compiler recorded it: relative to the package's folder
// where it is near, from the module cache or the standard library without what precedes those.
func (e *environment) shortFile(file string) string {
	slashed := filepath.ToSlash(file)
	if i := strings.LastIndex(slashed, "/pkg/mod/"); i >= 0 {
		return slashed[i+len("/pkg/mod/"):]
	}
	const library = "/go/src/"
	if i := strings.LastIndex(slashed, library); i >= 0 && !strings.Contains(filepath.ToSlash(e.dir), library) {
		return slashed[i+len(library):] // near or not: a checkout in a container may be at the root
	}
	if !filepath.IsAbs(file) {
		if inside, ok := strings.CutPrefix(slashed, e.packagePath+"/"); ok && !strings.Contains(inside, "/") {
			return inside // built with -trimpath
		}
		return slashed
	}
	if e.dir == "" {
		return slashed
	}
	if near, ok := relative(e.dir, file); ok {
		return near
	}
	if i := strings.LastIndex(slashed, "/src/"); i >= 0 {
		return slashed[i+len("/src/"):]
	}
	return slashed
}

// maxUp is how many folders above the package's a file counts as near.
const maxUp = 3

// relative returns the slashed way from a folder to a file that is near. filepath.Rel knows all ways, and adds 3 kB to a stripped
// program (go1.26.8).
func relative(dir, file string) (string, bool) {
	const separator = string(filepath.Separator)
	up := ""
	for range maxUp + 1 {
		if below, ok := strings.CutPrefix(file, strings.TrimSuffix(dir, separator)+separator); ok {
			return up + filepath.ToSlash(below), true
		}
		dir, up = filepath.Dir(dir), up+"../"
	}
	return "", false
}

// declaration returns where a root is declared, an empty site where there is no telling. The compiler
// records that for the variables of functions, not for package variables.
func (e *environment) declaration(root *branch) site {
	info := root.root
	if info.File != "" || info.Kind != refscan.RootGlobal || e.declared == nil {
		return site{info.File, info.Line}
	}
	file, line := e.declared(root.name)
	return site{file, line}
}

// place formats a file and line for a message, "" if the file is unknown.
func (e *environment) place(file string, line int) string {
	if file == "" {
		return ""
	}
	if line <= 0 {
		return e.shortFile(file)
	}
	return fmt.Sprintf("%s:%d", e.shortFile(file), line)
}

// updateFlag is registered under a name of its own: a library that registers -update breaks each
// package that declares one.
var updateFlag = flag.Bool("leakcheck.update", false, "rewrite the golden files of leakcheck assertions that differ")

// updateAsked reports whether golden files are to be rewritten: LEAKCHECK_UPDATE, -leakcheck.update, or a
// boolean flag -update, be it the package's own or VerifyTestMain's.
func updateAsked() (asked bool, problem string) {
	if v := os.Getenv("LEAKCHECK_UPDATE"); v != "" {
		on, err := strconv.ParseBool(v)
		if err != nil {
			return false, fmt.Sprintf("LEAKCHECK_UPDATE=%q: want 1 to rewrite golden files, or 0", v)
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

// registerUpdate declares -update unless the package has done so.
func registerUpdate() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "rewrite golden files that differ")
	}
}

// placeOf shortens the file in a "file:line".
func (e *environment) placeOf(fileLine string) string {
	i := strings.LastIndexByte(fileLine, ':')
	if i < 0 {
		return fileLine
	}
	return e.shortFile(fileLine[:i]) + fileLine[i:]
}
