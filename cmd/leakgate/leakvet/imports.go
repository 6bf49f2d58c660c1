package leakvet

import (
	"go/ast"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

// checkImports finds imports of leakcheck in code that is no test. A package that imports testing
// is a helper of tests.
func checkImports(pass *analysis.Pass) {
	if pass.Pkg.Path() == leakcheck {
		return
	}
	helper := false
	for _, file := range pass.Files {
		if !isTestFile(pass, file) && imports(file, "testing") {
			helper = pass.Pkg.Name() != "main"
		}
	}
	if helper {
		return
	}
	for _, file := range pass.Files {
		if isTestFile(pass, file) || ast.IsGenerated(file) {
			continue
		}
		for _, spec := range file.Imports {
			if importPath(spec) == leakcheck {
				pass.ReportRangef(spec, "leakcheck is for tests: move this to a _test.go file, or to a package of test helpers, which imports testing")
			}
		}
	}
}

func imports(file *ast.File, path string) bool {
	for _, spec := range file.Imports {
		if importPath(spec) == path {
			return true
		}
	}
	return false
}

func importPath(spec *ast.ImportSpec) string {
	path, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return ""
	}
	return path
}
