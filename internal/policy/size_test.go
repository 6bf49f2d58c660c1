package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// sizeBudget returns the number of bytes by which a test binary that uses the whole API may grow,
// when it is linked as plain "go test" does: without symbols and debug information.
func sizeBudget() int64 {
	if strings.HasPrefix(runtime.Version(), "go1.26") {
		return budgetHundredths << 20 / 100
	}
	return budgetHundredths27 << 20 / 100
}

const (
	budgetHundredths   = 430
	budgetHundredths27 = 467 // encoding/json of Go 1.27 is written on its version 2, and larger
)

// inProcess is the option that has a budget of its own: tests that name it link what looks into
// other processes.
const (
	inProcess       = "InProcess"
	inProcessBudget = 512 << 10
)

// TestBudgetIsWritten checks that users are told the budget.
func TestBudgetIsWritten(t *testing.T) {
	budget := fmt.Sprintf("at most %.2f MiB", budgetHundredths/100.0)
	if newer := fmt.Sprintf("%.2f with Go 1.27", budgetHundredths27/100.0); !strings.Contains(readFile(t, "README.md"), newer) {
		t.Errorf("README.md does not say %q", newer)
	}
	for _, file := range []string{"README.md", "CONTRIBUTING.md", "doc/performance.md", "leakcheck/doc.go"} {
		if !strings.Contains(readFile(t, file), budget) {
			t.Errorf("%s does not say %q", file, budget)
		}
	}
}

// sizeVerbs are the bodies of tests that use one verb each, with the packages that they import.
// TestBinarySize reports what each verb adds to a test binary. It bounds only the sum of all, since
// none can be larger.
var sizeVerbs = map[string]struct {
	imports []string
	body    string
}{
	"AssertRetained":  {[]string{"leakcheck"}, `leakcheck.AssertRetained(t, leakcheck.Root("x").MaxObjects(1), leakcheck.Type[*int]().None())`},
	"AssertNoGrowth":  {[]string{"leakcheck"}, `leakcheck.AssertNoGrowth(t, func() {})`},
	"AssertAllocs":    {[]string{"leakcheck"}, `leakcheck.AssertAllocs(t, func() {}, leakcheck.Type[*int]().MaxAllocsPerOp(1))`},
	"AssertPeak":      {[]string{"leakcheck"}, `leakcheck.AssertPeak(t, func() {}, leakcheck.MaxBytes(1))`},
	"ExpectCollected": {[]string{"leakcheck"}, `leakcheck.ExpectCollected(t, new(int), "test")`},
	"AssertCollected": {[]string{"leakcheck", "weak"}, `leakcheck.AssertCollected(t, weak.Make(new(int)), "test")`},
	"Find":            {[]string{"leakcheck"}, `t.Log(leakcheck.Find(leakcheck.Root("x").MaxObjects(1)))`},
	"TakeBaseline":    {[]string{"leakcheck"}, `leakcheck.TakeBaseline(t)`},
	inProcess:         {[]string{"leakcheck"}, `leakcheck.AssertNoGrowth(t, func() {}, leakcheck.InProcess(1))`},
	"VerifyTestMain":  {[]string{"leakcheck"}, `leakcheck.VerifyTestMain(nil)`},
	"refscan": {[]string{"refscan", "io"}, `
		snapshot, err := refscan.Capture()
		if err != nil {
			t.Fatal(err)
		}
		report, err := snapshot.Scan(refscan.WithRetained())
		if err != nil {
			t.Fatal(err)
		}
		t.Log(report.WriteProfile(io.Discard), snapshot.Close())`},
	"stackprof": {[]string{"stackprof", "io"}, `
		profile, err := stackprof.Take()
		if err != nil {
			t.Fatal(err)
		}
		t.Log(profile.WriteTo(io.Discard))`},
}

// TestBinarySize measures what each verb of the API, and all of them, add to a test binary.
func TestBinarySize(t *testing.T) {
	require.Slow(t)
	missing := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^func (\w+)(?:\[.*\])?\(\w+ Testing[TM]\b`).FindAllStringSubmatch(exported(t, "leakcheck"), -1) {
		missing[m[1]] = true
	}
	tests := map[string]string{"nothing": sizeTest("nothing", nil, "")}
	var imports []string
	var bodies strings.Builder
	for name, verb := range sizeVerbs {
		delete(missing, name)
		tests[name] = sizeTest(name, verb.imports, verb.body)
		if name == inProcess {
			continue // few tests use it
		}
		imports = append(imports, verb.imports...)
		fmt.Fprintf(&bodies, "\t{%s\n\t}\n", verb.body)
	}
	for name := range missing {
		t.Errorf("leakcheck.%s is not in the table of verbs", name)
	}
	slices.Sort(imports)
	tests["everything"] = sizeTest("everything", slices.Compact(imports), bodies.String())

	sizes := linkedSizes(t, tests)
	empty := sizes["nothing"]
	for _, name := range slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return int(sizes[a] - sizes[b]) }) {
		t.Logf("%-16s %9d bytes", name, sizes[name]-empty)
		if name != "nothing" && sizes[name]-empty < 50_000 {
			t.Errorf("%s adds only %d bytes to a test binary: was it linked at all?", name, sizes[name]-empty)
		}
	}
	if added := sizes[inProcess] - sizes["AssertNoGrowth"]; added > inProcessBudget {
		t.Errorf("%s adds %d bytes to a test binary, the budget is %d", inProcess, added, inProcessBudget)
	}
	if added := sizes["everything"] - empty; added > sizeBudget() {
		t.Errorf("the API adds %d bytes to a test binary, the budget is %d", added, sizeBudget())
	}
}

// sizeTest returns a test file. The imports are packages of this module if it has them, else of the
// standard library.
func sizeTest(name string, imports []string, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"testing\"\n", strings.ToLower(name))
	for _, path := range imports {
		if slices.Contains(linked, path) {
			path = modulePath + "/" + path
		}
		fmt.Fprintf(&b, "\t%q\n", path)
	}
	fmt.Fprintf(&b, ")\n\nfunc Test(t *testing.T) {\n%s\n}\n", body)
	return b.String()
}

// linkedSizes links test binaries for linux/amd64, one for each source, and returns their sizes.
// The sizes do not depend on the path of this checkout, although binaries contain the paths of
// sources: the sources are in an overlay, as packages below this one.
func linkedSizes(t *testing.T, sources map[string]string) map[string]int64 {
	t.Helper()
	scratch, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay := make(map[string]string)
	args := []string{"test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w", "-o", scratch + string(filepath.Separator), "-overlay", filepath.Join(scratch, "overlay.json")}
	for name, source := range sources {
		name = strings.ToLower(name)
		file := filepath.Join(scratch, name+"_test.go")
		if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(here, "testdata", "size", name, name+"_test.go")] = file
		args = append(args, "./internal/policy/testdata/size/"+name)
	}
	content, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(scratch, "overlay.json"), content, 0o666); err != nil {
		t.Fatal(err)
	}
	goLines(t, platform{"linux", "amd64"}, args...)
	sizes := make(map[string]int64)
	for name := range sources {
		info, err := os.Stat(filepath.Join(scratch, strings.ToLower(name)+".test"))
		if err != nil {
			t.Fatal(err)
		}
		sizes[name] = info.Size()
	}
	return sizes
}
