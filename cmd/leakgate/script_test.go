package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/leakgate/leakgate/golden"
)

var update = flag.Bool("update", false, "rewrite the expected files of scripts that differ")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"leakgate": main})
}

// TestScript runs the scripts in testdata/script. The module of each uses, in place of the library,
// a stand-in in ./_leakgate: it writes records with any verdict at once.
func TestScript(t *testing.T) { runScripts(t, "testdata/script") }

// TestEndToEnd runs the scripts in testdata/endtoend, whose modules use this repository, in
// $LEAKGATE.
func TestEndToEnd(t *testing.T) { runScripts(t, "testdata/endtoend") }

func runScripts(t *testing.T, dir string) {
	t.Helper()
	goEnv := readGoEnv(t, "GOCACHE", "GOMODCACHE", "CGO_ENABLED")
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	leakgate, err := exec.LookPath("leakgate")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("LEAKGATE", repo)
			// The go command's cache key includes the name of the folder.
			if cache, err := os.UserCacheDir(); err == nil {
				env.Setenv("AUTO_CACHE", filepath.Join(cache, "leakgate"))
			}
			env.Setenv("LEAKGATE_BIN", filepath.Dir(leakgate)) // the folder has nothing else
			env.Setenv("GOCACHE", goEnv["GOCACHE"])
			env.Setenv("GOMODCACHE", goEnv["GOMODCACHE"])
			env.Setenv("GOENV", "off")
			env.Setenv("GOFLAGS", "")
			env.Setenv("GOPROXY", "off") // scripts need nothing from a proxy
			env.Setenv("GOSUMDB", "off")
			env.Setenv("GOTOOLCHAIN", "local")
			for _, name := range []string{"CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "TEST_UNDECLARED_OUTPUTS_DIR"} {
				env.Setenv(name, "")
			}
			standIn := filepath.Join(env.WorkDir, "_leakgate")
			if err := os.CopyFS(standIn, os.DirFS("testdata/leakgate")); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(standIn, "go.mod"), []byte("module github.com/leakgate/leakgate\n\ngo 1.24.0\n"), 0o666)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "core" {
				return writesCores(), nil
			}
			if cond == "race" { // the race detector needs cgo
				return goEnv["CGO_ENABLED"] == "1", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   cmdExits,
			"same":    cmdSame,
			"waitfor": cmdWaitFor,
			"manual":  cmdManual(parseManual(t)),
			"valid":   cmdValid(compileSchema(t)),
		},
	})
}

// writesCores reports whether the kernel writes a core file into the current folder of a program
// that crashes.
func writesCores() bool {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.ContainsAny(string(pattern), "|/%") {
		return false
	}
	return exec.Command("sh", "-c", "ulimit -c unlimited").Run() == nil
}

// readGoEnv returns variables of the go command.
func readGoEnv(t *testing.T, names ...string) map[string]string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	values := strings.Split(string(out), "\n")
	env := make(map[string]string)
	for i, name := range names {
		env[name] = values[i]
	}
	return env
}

// cmdExits runs "exits CODE command...": the command must end with exactly that exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdManual runs "manual command...": all examples of these commands in the manual, as a shell runs
// them. Each must end with exit code 0.
func cmdManual(m *manual) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		ran := 0
		for _, line := range m.Code() {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "leakgate" || !slices.Contains(args, words[1]) || strings.Contains(line, "[") {
				continue // no example of these commands, or a synopsis
			}
			if strings.Contains(line, " -auto") {
				continue // -auto cannot use the stand-in of leakcheck: see the end-to-end scripts
			}
			ran++
			ts.Logf("$ %s", line)
			ts.Check(ts.Exec("sh", "-c", line))
		}
		if neg || ran == 0 {
			ts.Fatalf("usage: manual command...; %d examples", ran)
		}
	}
}

// cmdValid runs "valid file...": each must be a leakgate.json that the schema allows.
func cmdValid(schema *jsonschema.Schema) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) == 0 {
			ts.Fatalf("usage: valid file...")
		}
		for _, file := range args {
			ts.Check(validate(schema, []byte(ts.ReadFile(file))))
		}
	}
}

// cmdWaitFor waits until a file exists. The script's deadline bounds it.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor file")
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not come", args[0])
		}
	}
}

// testTime matches how long a test took, in its output.
var testTime = regexp.MustCompile(`\(\d+\.\d\ds\)`)

// cmdSame runs "same ONE OTHER": two reports of runs must be equal, except for their commands and
// times.
func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same report report")
	}
	var texts []string
	for _, name := range args {
		var run map[string]any
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &run))
		delete(run, "command")
		forget(run, "elapsed_seconds")
		text, err := json.MarshalIndent(run, "", "  ")
		ts.Check(err)
		texts = append(texts, testTime.ReplaceAllString(string(text), "(0.00s)")+"\n")
	}
	if texts[0] != texts[1] {
		ts.Fatalf("%s and %s differ:\n%s", args[0], args[1], golden.Diff(texts[0], texts[1]))
	}
}

// forget removes a key at any depth.
func forget(v any, key string) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, key)
		for _, inner := range v {
			forget(inner, key)
		}
	case []any:
		for _, inner := range v {
			forget(inner, key)
		}
	}
}
