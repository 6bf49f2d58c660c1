package twin

import (
	"flag"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// SourceFile finds a source file of the module under test by the name that -trimpath gives it,
// "example.com/mod/pkg/file.go"; "" if the file is of another module, or if the program is not a
// test that was started in its package's folder.
func SourceFile(trimmed string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	pkg, ok := testedPackage(info)
	if !ok {
		return ""
	}
	return sourceFile(trimmed, info.Main.Path, pkg, startDir)
}

// testedPackage returns the import path of the package under test; false if the program is no test.
// The build information has that path followed by ".test". For tests of package main it has the
// path alone (go1.26 cmd/go/internal/load/test.go, TestPackagesAndErrors): they are known by the
// flags of package testing.
func testedPackage(info *debug.BuildInfo) (path string, ok bool) {
	if pkg, ok := strings.CutSuffix(info.Path, ".test"); ok {
		return pkg, true
	}
	return info.Path, flag.Lookup("test.run") != nil
}

// sourceFile is SourceFile for a test of pkg in module, started in dir: the module's folder is as
// far above dir as the module's path is above pkg.
func sourceFile(trimmed, module, pkg, dir string) string {
	inModule, ok := strings.CutPrefix(trimmed, module+"/")
	if !ok || module == "" || dir == "" {
		return ""
	}
	below, ok := strings.CutPrefix(pkg+"/", module+"/")
	if !ok {
		return ""
	}
	root, ok := strings.CutSuffix(dir+string(filepath.Separator), filepath.FromSlash(below))
	if !ok {
		return ""
	}
	return filepath.Join(root, filepath.FromSlash(inModule))
}
