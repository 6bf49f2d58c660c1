package examples

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// seenByAuto has, for each example, a pattern of what leakgate run -auto says about its leak, and
// the exit code: 1 if the module makes what leaks, 0 with a note if a dependency does.
var seenByAuto = map[string]struct {
	says string
	code int
}{
	"failsafe":         {`(?m)^leak \w+: AssertNoGrowth: example\.com/prices\.running: \+1\.00 \*context\.cancelCtx/op`, 1},
	"gorilla-sessions": {`via github\.com/gorilla/context\.data\[\$key\]\n +made by visits\.count \(visits\.go:\d+\)`, 1},
	"expirable-lru":    {`started by \S+expirable\.NewLRU\S*\n +made by weather\.Open \(weather\.go:\d+\)\n +the test does call Close`, 1},
	"wazero":           {`(?m)^note: in a dependency, github\.com/tetratelabs/wazero v1\.3\.1: .*\*wasm\.Module/op .* via finalizer\(`, 0},
}

// TestAuto gives each leaky twin a plain test, in a module that does not require leakgate. It
// expects leakgate run -auto to name the root of the leak, and to report nothing about the fixed
// twin.
func TestAuto(t *testing.T) {
	if os.Getenv("LEAKGATE_SLOW") == "" {
		t.Skip("it builds programs; set LEAKGATE_SLOW=1")
	}
	leakgate := filepath.Join(t.TempDir(), "leakgate")
	if out, err := exec.Command("go", "-C", "../cmd/leakgate", "build", "-o", leakgate, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	each(t, func(t *testing.T, e example) {
		want, ok := seenByAuto[e.folder]
		if !ok {
			t.Skip("cmd/leakgate/testdata/endtoend/auto_examples.txtar is about it")
		}
		for _, side := range []string{"leaky", "fixed"} {
			dir := plain(t, e, side)
			cmd := exec.Command(leakgate, "run", "-auto", ".")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PWD="+dir, "GOWORK=off", "GOFLAGS=", "CI=", "GITHUB_ACTIONS=")
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			found, code := regexp.MustCompile(want.says).Match(out), want.code
			if side == "fixed" {
				code = 0
				if e.upstream != "" && e.leaky == e.fixed {
					continue // the fixed twin is another program, which may hold caches
				}
			}
			if found != (side == "leaky") || cmd.ProcessState.ExitCode() != code {
				t.Errorf("%s: found %v, exit code %d, want %d:\n%s", side, found, cmd.ProcessState.ExitCode(), code, out)
			}
		}
	})
}

// plain makes a copy of one side without leakgate, in which a plain test calls the tests' helper.
func plain(t *testing.T, e example, side string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range filesOf(t, e, side) {
		if strings.Contains(name, "/") || name == "go.work" {
			continue // golden files
		}
		if strings.HasSuffix(name, "_test.go") {
			content = plainTest(t, name, content)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	edit := exec.Command("go", "mod", "edit", "-droprequire=github.com/leakgate/leakgate", "-dropreplace=github.com/leakgate/leakgate")
	edit.Dir = dir
	if out, err := edit.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// plainTest returns the text of a test file without the tests that assert and the imports that only
// these use. It adds a test that calls their helper, the function with the parameters t and n.
func plainTest(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := func(p token.Pos) int { return set.Position(p).Offset }
	var kept strings.Builder
	helper := ""
	for _, d := range file.Decls {
		part := string(text[at(d.Pos()):at(d.End())])
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Type.Params.NumFields() == 2 && !f.Name.IsExported() {
			helper = f.Name.Name
		}
		if g, ok := d.(*ast.GenDecl); (!ok || g.Tok != token.IMPORT) && !strings.Contains(part, "leakcheck.") {
			kept.WriteString("\n" + part + "\n")
		}
	}
	if helper == "" {
		t.Fatalf("%s has no helper", name)
	}
	fmt.Fprintf(&kept, "\nfunc TestPlain(t *testing.T) { %s(t, 1) }\n", helper)
	head := "package " + file.Name.Name + "\n\n"
	for _, i := range file.Imports {
		if path := strings.Trim(i.Path.Value, `"`); strings.Contains(kept.String(), path[strings.LastIndexByte(path, '/')+1:]+".") {
			head += "import " + i.Path.Value + "\n"
		}
	}
	return []byte(head + kept.String())
}
