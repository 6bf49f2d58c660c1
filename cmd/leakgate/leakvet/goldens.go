package leakvet

import (
	"go/ast"
	"go/constant"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/goldenset"
	"github.com/leakgate/leakgate/golden"
)

// checkGolden finds comparisons with a golden file that does not exist. It checks the first one in
// a test function itself: names of subtests are made when they run.
func checkGolden(pass *analysis.Pass, f *function) {
	if f.outer != nil || !strings.HasPrefix(f.name, "Test") || !isTestFile(pass, fileOf(pass, f)) {
		return
	}
	var first *ast.CallExpr
	f.calls(func(call *ast.CallExpr) {
		if first == nil && callee(pass.TypesInfo, call) == "AssertRetained" {
			first = call
		}
	})
	if first == nil || !passesParameter(pass, f, first) {
		return
	}
	name, ok := goldenName(pass, f.name, options(pass.TypesInfo, first, 1))
	if !ok {
		return
	}
	file, err := golden.FileName(name)
	if err != nil {
		return
	}
	shown := "testdata/leakcheck/" + file
	if _, err := os.Stat(filepath.Join(folder(pass, fileOf(pass, f)), filepath.FromSlash(shown))); os.IsNotExist(err) {
		pass.ReportRangef(first, "there is no golden file %s to compare with: make it with leakgate run -update, and commit it", shown)
	}
}

// passesParameter reports whether the assertion is on the function's own test, not on another one.
func passesParameter(pass *analysis.Pass, f *function, call *ast.CallExpr) bool {
	if len(call.Args) == 0 || f.typ.Params.NumFields() != 1 || len(f.typ.Params.List[0].Names) != 1 {
		return false
	}
	t, ok := call.Args[0].(*ast.Ident)
	return ok && pass.TypesInfo.Uses[t] == pass.TypesInfo.Defs[f.typ.Params.List[0].Names[0]]
}

// goldenName returns the golden name of an assertion, and false if it has none or it cannot be
// told.
func goldenName(pass *analysis.Pass, test string, options []option) (string, bool) {
	name := test
	for _, o := range options {
		switch o.name {
		case "Scope", "Since", "Ignore":
		case "Golden":
			value := pass.TypesInfo.Types[o.call.Args[0]].Value
			if value == nil || value.Kind() != constant.String {
				return "", false
			}
			name = constant.StringVal(value)
		default:
			return "", false
		}
	}
	return name, true
}

func fileOf(pass *analysis.Pass, f *function) *ast.File {
	for _, file := range pass.Files {
		if file.FileStart <= f.node.Pos() && f.node.Pos() < file.FileEnd {
			return file
		}
	}
	return nil
}

// checkOrphans finds golden files that belong to no test. It reports them at the package clause of
// the first test file of the folder, so that only one of the package's variants does.
func checkOrphans(pass *analysis.Pass) error {
	files := make(map[string]*ast.File)
	dir := ""
	for _, file := range pass.Files {
		if isTestFile(pass, file) {
			files[filepath.Base(fileName(pass, file))] = file
			dir = folder(pass, file)
		}
	}
	if len(files) == 0 {
		return nil
	}
	all, err := filepath.Glob(filepath.Join(globEscape(dir), "*_test.go"))
	if err != nil || len(all) == 0 {
		return err
	}
	sort.Strings(all)
	first, ours := files[filepath.Base(all[0])]
	if !ours {
		return nil
	}
	found, err := goldenset.Find(dir, func() bool { return true })
	if err != nil {
		return err
	}
	for _, g := range found {
		if g.State == goldenset.Orphaned {
			pass.ReportRangef(first.Name, "the golden file testdata/leakcheck/%s belongs to no test (%s): leakgate golden prune removes it", g.Name, g.Why)
		}
	}
	return nil
}

// globEscape makes a path a pattern that matches only itself.
func globEscape(path string) string {
	if filepath.Separator == '\\' {
		return path // there is no escape there
	}
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}
