package environ

import (
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const thisPackage = "github.com/leakgate/leakgate/leakcheck/internal/environ"

func TestPackageOnStack(t *testing.T) {
	if got := packageOnStack(); got != thisPackage {
		t.Errorf("in a test: %q, want %q", got, thisPackage)
	}
	found := make(chan string)
	go func() { found <- packageOnStack() }()
	if got := <-found; got != thisPackage {
		t.Errorf("in a goroutine of a test: %q, want %q", got, thisPackage)
	}
	next, stop := iter.Pull2(testsOnStack)
	defer stop()
	if pkg, file, ok := next(); ok {
		t.Errorf("in a goroutine without a test: %q in %s", pkg, file)
	}
}

func TestUpdateIsAskedFor(t *testing.T) {
	t.Setenv(envvar.Update.Name(), "")
	check := func(what string, want bool) {
		t.Helper()
		if got, problem := UpdateAsked(); got != want || problem != "" {
			t.Errorf("%s: %v %s", what, got, problem)
		}
	}
	check("nothing", false)
	t.Setenv(envvar.Update.Name(), "1")
	check("LEAKGATE_UPDATE=1", true)
	t.Setenv(envvar.Update.Name(), "0")
	check("LEAKGATE_UPDATE=0", false)
	t.Setenv(envvar.Update.Name(), "golden")
	if asked, problem := UpdateAsked(); asked || !strings.Contains(problem, `LEAKGATE_UPDATE="golden"`) {
		t.Error(problem)
	}
	t.Setenv(envvar.Update.Name(), "")
	if err := flag.Set("leakcheck.update", "true"); err != nil {
		t.Fatal(err)
	}
	check("-leakcheck.update", true)
	if err := flag.Set("leakcheck.update", "false"); err != nil {
		t.Fatal(err)
	}

	// The package's own flag, and VerifyTestMain's attempt to register the same.
	commandLine := flag.CommandLine
	defer func() { flag.CommandLine = commandLine }()
	flag.CommandLine = flag.NewFlagSet("own", flag.ContinueOnError)
	flag.Bool("update", true, "the package's own")
	RegisterUpdate()
	check("the package's own -update", true)
	flag.CommandLine = flag.NewFlagSet("text", flag.ContinueOnError)
	flag.String("update", "true", "not a switch")
	check("a -update with a text", false)
	flag.CommandLine = flag.NewFlagSet("free", flag.ContinueOnError)
	RegisterUpdate()
	check("-update of VerifyTestMain", false)
	if err := flag.CommandLine.Parse([]string{"-update"}); err != nil {
		t.Fatal(err)
	}
	check("-update of VerifyTestMain, given", true)
}

// A run of a part of the tests neither makes nor changes TestMain.golden.
func TestPartsOfTheTests(t *testing.T) {
	commandLine := flag.CommandLine
	defer func() { flag.CommandLine = commandLine }()
	for _, tt := range []struct {
		flags, shards string
		want          bool
	}{
		{"", "", false},
		{"test.run", "", true},
		{"test.skip", "", true},
		{"", "1", false},
		{"", "16", true},
	} {
		flag.CommandLine = flag.NewFlagSet("own", flag.ContinueOnError)
		if tt.flags != "" {
			flag.String(tt.flags, "TestLogout", "")
		}
		t.Setenv("TEST_TOTAL_SHARDS", tt.shards)
		if got := CurrentEnvironment().Partial; got != tt.want {
			t.Errorf("-%s, %q shards: %v", tt.flags, tt.shards, got)
		}
	}
}

func TestShortFile(t *testing.T) {
	e := &Environment{Dir: "/home/me/app/store", PackagePath: "example.com/app/store", ModulePath: "example.com/app"}
	for file, want := range map[string]string{
		"/home/me/app/store/store.go":                        "store.go",
		"/home/me/app/main.go":                               "../main.go",
		"/home/me/other/x.go":                                "../../other/x.go",
		"/home/you/app/x.go":                                 "../../../you/app/x.go",
		"/srv/you/app/x.go":                                  "/srv/you/app/x.go",
		"/home/me/app/storefront/x.go":                       "../storefront/x.go",
		"/home/me/go/pkg/mod/github.com/x/y@v1.2.0/y.go":     "github.com/x/y@v1.2.0/y.go",
		"example.com/app/store/store.go":                     "store.go",
		"example.com/app/main.go":                            "example.com/app/main.go",
		"/opt/deep/down/in/the/tree/go/src/net/http/pool.go": "net/http/pool.go",
		"/opt/deep/down/in/the/tree/src/lib/pool.go":         "lib/pool.go",
		"/home/you/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.27.3.linux-amd64/src/net/http/pool.go": "net/http/pool.go",
		"example.com/app/store/sub/x.go": "example.com/app/store/sub/x.go",
	} {
		if got := e.ShortFile(file); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	root := &Environment{Dir: "/app"}
	if got := (&Environment{Dir: "/"}).ShortFile("/etc/x.go"); got != "etc/x.go" {
		t.Error(got)
	}
	if got := root.ShortFile("/usr/local/go/src/testing/testing.go"); got != "testing/testing.go" {
		t.Error(got)
	}
	if got := (&Environment{}).ShortFile("/home/me/app/main.go"); got != "/home/me/app/main.go" {
		t.Error(got)
	}
	within := &Environment{Dir: "/home/me/go/src/example.com/app"}
	if got := within.ShortFile("/home/me/go/src/example.com/app/app.go"); got != "app.go" {
		t.Error(got)
	}
	if got := fmt.Sprintf("%q", []string{e.PlaceOf("/home/me/app/main.go:7"), e.Place("", 3), e.Place("/home/me/app/main.go", 0), e.Place("/home/me/app/main.go", 9), e.PlaceOf("a register")}); got != `["../main.go:7" "" "../main.go" "../main.go:9" "a register"]` {
		t.Error(got)
	}
}

// withFlags sets the flags of package testing until the test ends.
func withFlags(t *testing.T, flags map[string]string) {
	t.Helper()
	commandLine := flag.CommandLine
	t.Cleanup(func() { flag.CommandLine = commandLine })
	flag.CommandLine = flag.NewFlagSet("own", flag.ContinueOnError)
	for name, value := range flags {
		flag.String(name, value, "")
	}
}

// withoutVariables empties what the environment says of assertions until the test ends.
func withoutVariables(t *testing.T) {
	t.Helper()
	for _, name := range append(envvar.Names(), "CI", "TEST_UNDECLARED_OUTPUTS_DIR", "TEST_TOTAL_SHARDS") {
		t.Setenv(name, "")
	}
}

// Environment variables and flags say how an assertion works, at each call.
func TestCurrentEnvironment(t *testing.T) {
	withoutVariables(t)
	withFlags(t, nil)
	plain := CurrentEnvironment()
	assert.Equal(t, thisPackage, plain.PackagePath)
	assert.Equal(t, "github.com/leakgate/leakgate", plain.ModulePath)
	assert.True(t, plain.Modules == symbol.OwnModules())
	dir, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, dir, plain.Dir)
	assert.NoError(t, plain.DirErr)

	type on func(*Environment) any
	for _, tt := range []struct {
		name, value string
		get         on
		want, plain any
	}{
		{"CI", "true", func(e *Environment) any { return e.Ci }, true, false},
		{"CI", "0", func(e *Environment) any { return e.Ci }, false, false},
		{"CI", "yes", func(e *Environment) any { return e.Ci }, true, false},
		{envvar.Strict.Name(), "1", func(e *Environment) any { return e.Strict }, true, false},
		{envvar.Full.Name(), "1", func(e *Environment) any { return e.Full }, true, false},
		{envvar.Measure.Name(), "1", func(e *Environment) any { return e.Measure }, true, false},
		{envvar.ArtifactsAll.Name(), "1", func(e *Environment) any { return e.Every }, true, false},
		{envvar.Artifacts.Name(), "/a", func(e *Environment) any { return e.Artifacts }, "/a", ""},
		{envvar.Goldens.Name(), "/g", func(e *Environment) any { return e.Goldens }, "/g", ""},
		{envvar.Native.Name(), "/n", func(e *Environment) any { return e.Native }, "/n", ""},
		{envvar.Alone.Name(), "/l", func(e *Environment) any { return e.Alone }, "/l", ""},
		{envvar.Repeat.Name(), "/r", func(e *Environment) any { return e.Repeat }, true, false},
		{envvar.Update.Name(), "1", func(e *Environment) any { return e.Update }, true, false},
		{envvar.Update.Name(), "yes", func(e *Environment) any { return e.UpdateProblem }, envvar.Update.Name() + `="yes": want 1 to rewrite golden files, or 0`, ""},
		{envvar.Suppressed.Name(), "app.a\napp.b", func(e *Environment) any { return strings.Join(e.Suppressed, "|") }, "app.a|app.b", ""},
		{envvar.Examples.Name(), "off", func(e *Environment) any { return e.NoExamples }, true, false},
		{envvar.Examples.Name(), "0", func(e *Environment) any { return e.NoExamples }, true, false},
		{envvar.Examples.Name(), "none", func(e *Environment) any { return e.NoExamples }, true, false},
		{envvar.Examples.Name(), "On", func(e *Environment) any { return e.NoExamples }, false, false},
		{envvar.Examples.Name(), "1", func(e *Environment) any { return e.NoExamples }, false, false},
		{"TEST_UNDECLARED_OUTPUTS_DIR", "/o", func(e *Environment) any { return e.Undeclared }, "/o", ""},
	} {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			assert.Equal(t, tt.plain, tt.get(plain))
			t.Setenv(tt.name, tt.value)
			assert.Equal(t, tt.want, tt.get(CurrentEnvironment()))
		})
	}
	for _, tt := range []struct {
		flags string // name=value, separated by spaces
		get   on
		want  any
	}{
		{"test.run=^TestX$", func(e *Environment) any { return e.Selected }, Selection{Run: "^TestX$"}},
		{"test.count=1 test.cpu=2", func(e *Environment) any { return e.Selected.Once }, true},
		{"test.count=2", func(e *Environment) any { return e.Selected.Once }, false},
		{"test.count=1 test.cpu=1,2", func(e *Environment) any { return e.Selected.Once }, false},
		{"test.bench=.", func(e *Environment) any { return e.Benchmarks }, true},
		{"test.testlogfile=/log", func(e *Environment) any { return e.TestLog }, "/log"},
		{"test.memprofile=mem.out", func(e *Environment) any { return e.MemProfile }, true},
		{"test.v=true", func(e *Environment) any { return e.Verbose }, true},
		{"test.v=test2json", func(e *Environment) any { return e.Verbose }, true},
		{"test.v=false", func(e *Environment) any { return e.Verbose }, false},
		{"test.list=.", func(e *Environment) any { return e.NoTests }, true},
		{"test.fuzzworker=true", func(e *Environment) any { return e.NoTests }, true},
		{"test.fuzzworker=false", func(e *Environment) any { return e.NoTests }, false},
	} {
		t.Run(tt.flags, func(t *testing.T) {
			flags := make(map[string]string)
			for _, f := range strings.Fields(tt.flags) {
				name, value, _ := strings.Cut(f, "=")
				flags[name] = value
			}
			withFlags(t, flags)
			assert.Equal(t, tt.want, tt.get(CurrentEnvironment()))
		})
	}
	assert.Equal(t, envvar.Alone.Name()+"=/l", RunsAlone("/l"))
}

// Files are kept where a folder for them is given, or go test keeps the test's own.
func TestKeepsFiles(t *testing.T) {
	withFlags(t, nil)
	assert.False(t, (&Environment{}).KeepsFiles())
	assert.True(t, (&Environment{Artifacts: "/a"}).KeepsFiles())
	assert.True(t, (&Environment{Undeclared: "/a"}).KeepsFiles())
	withFlags(t, map[string]string{"test.artifacts": "false"})
	assert.False(t, (&Environment{}).KeepsFiles())
	withFlags(t, map[string]string{"test.artifacts": "true"})
	assert.True(t, (&Environment{}).KeepsFiles())
}

// The module under test is matched by its full path, and in a service the main package is its own.
func TestModuleUnderTest(t *testing.T) {
	for _, tt := range []struct {
		name             string
		env              Environment
		include, exclude []string
	}{
		{"a module", Environment{PackagePath: "example.com/app/store", ModulePath: "example.com/app"}, []string{"example.com/app", "example.com/app/store", "example.com/app/other"}, []string{"app", "other.org/example.com/app", "example.com/apps", "main"}},
		{"no module", Environment{PackagePath: "command-line-arguments"}, []string{"command-line-arguments"}, []string{"command-line-arguments/x", "main"}},
		{"a service", Environment{PackagePath: "example.com/app", ModulePath: "example.com/app", Service: true}, []string{"main", "example.com/app/store"}, []string{"net"}},
		{"nothing", Environment{}, nil, []string{"", "main"}},
	} {
		includes := func(pkg string) bool {
			for _, ps := range tt.env.ModuleUnderTest() {
				if ps.Include(pkg) {
					return true
				}
			}
			return false
		}
		for _, pkg := range tt.include {
			assert.True(t, includes(pkg), tt.name+": "+pkg)
		}
		for _, pkg := range tt.exclude {
			assert.False(t, includes(pkg), tt.name+": "+pkg)
		}
	}
}

// The library's types and packages are not the program's, nor are this tool's.
func TestIsProgram(t *testing.T) {
	e := &Environment{Modules: symbol.ModulesOf(&debug.BuildInfo{Main: debug.Module{Path: "shop"}})}
	for pkg, want := range map[string]bool{
		"example.com/app": true, "shop": true, "shop/cart": true, "main": true, "net/http": false, "shopping": false, "github.com/leakgate/leakgate/leakcheck": false, "": false,
	} {
		assert.Equal(t, want, e.IsProgram(pkg), pkg)
	}
	for typ, want := range map[string]bool{
		"*shop/cart.Item": true, "map[string][]*example.com/app.T": true, "sync/atomic.Pointer[shop.Item]": true, "map[string]*net/http.Request": false, "[]uint8": false,
	} {
		assert.Equal(t, want, e.MentionsProgram(typ), typ)
	}
}

// Golden files are in the package's folder, or in one for all packages.
func TestGoldenPath(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		env         Environment
		shown, full string
	}{
		{Environment{Dir: dir, PackagePath: "example.com/app"}, "testdata/leakcheck/TestX/a.golden", filepath.Join(dir, "testdata", "leakcheck", "TestX", "a.golden")},
		{Environment{Dir: "other", PackagePath: "example.com/app", Goldens: filepath.Join(dir, "base")}, "base/example.com/app/TestX/a.golden", filepath.Join(dir, "base", "example.com", "app", "TestX", "a.golden")},
		{Environment{PackagePath: "../app", Goldens: filepath.Join(dir, "base")}, "base/../app/TestX/a.golden", filepath.Join(dir, "base", "unnamed", "TestX", "a.golden")},
	} {
		shown, full := tt.env.GoldenPath("TestX/a.golden")
		assert.Equal(t, tt.shown, shown)
		assert.Equal(t, tt.full, full)
	}
}

// A test binary knows whether it runs in its package's folder by the file of a test on the stack.
func TestPackageFolder(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	_, isHere := (&Environment{Dir: here, PackagePath: thisPackage}).PackageFolder()
	assert.True(t, isHere)
	elsewhere := t.TempDir()
	folder, isHere := (&Environment{Dir: elsewhere, PackagePath: thisPackage}).PackageFolder()
	assert.False(t, isHere)
	assert.True(t, folder == "" || filepath.IsAbs(folder), folder)
	assert.NotEqual(t, elsewhere, folder)
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "environment_test.go"), nil, 0o644))
	_, isHere = (&Environment{Dir: elsewhere, PackagePath: thisPackage}).PackageFolder()
	assert.True(t, isHere, "the file of this test is there")
	for _, pkg := range []string{"", "example.com/app"} {
		folder, isHere = (&Environment{Dir: elsewhere, PackagePath: pkg}).PackageFolder()
		assert.True(t, isHere && folder == "", pkg)
	}
}

// The go command's log of a test's inputs gets those that are read after the tests.
func TestLogInputs(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	e := &Environment{Dir: dir, TestLog: log}
	logged := func(before, file string) string {
		require.NoError(t, os.WriteFile(log, []byte(before), 0o644))
		e.LogInputs(file)
		data, err := os.ReadFile(log)
		require.NoError(t, err)
		after, ok := strings.CutPrefix(string(data), before)
		require.True(t, ok, string(data))
		return after
	}
	var variables string
	for _, name := range append(envvar.Names(), "CI", "TEST_TOTAL_SHARDS", "TEST_UNDECLARED_OUTPUTS_DIR") {
		variables += "getenv " + name + "\n"
	}
	assert.Equal(t, variables, logged("# test log\ngetenv HOME\n", ""))
	_, path := e.GoldenPath("TestMain.golden")
	assert.Equal(t, variables+"open "+path+"\n", logged("# test log\n", "TestMain.golden"))
	assert.Empty(t, logged("another file\n", "TestMain.golden"))
	e.TestLog = filepath.Join(dir, "none")
	e.LogInputs("")
	assert.NoFileExists(t, e.TestLog, "there is no log, and none is made")
}

// An assertion of no test is a mistake that cannot be reported by a failure.
func TestNeedT(t *testing.T) {
	NeedT(t, "AssertRetained")
	NeedT(unnamed{t}, "AssertRetained")
	for _, none := range []TestingT{nil, (*testing.T)(nil)} {
		assert.PanicsWithValue(t, "leakcheck: AssertRetained: t is nil; pass the *testing.T of the test that is running", func() { NeedT(none, "AssertRetained") })
	}
	assert.Equal(t, "TestNeedT", TestName(t))
	assert.Empty(t, TestName(unnamed{t}))
}

// unnamed is a test that does not tell its name.
type unnamed struct{ t *testing.T }

func (u unnamed) Helper()                        {}
func (u unnamed) Logf(format string, a ...any)   { u.t.Logf(format, a...) }
func (u unnamed) Errorf(format string, a ...any) { u.t.Errorf(format, a...) }

// siteOfCaller is the place of its caller.
func siteOfCaller() Site { return CallSite(1) }

func TestCallSite(t *testing.T) {
	above, own := CallSite(0), siteOfCaller()
	next := siteOfCaller()
	assert.True(t, strings.HasSuffix(own.File, "environment_test.go"), own.File)
	assert.Equal(t, above, own)
	assert.Equal(t, own.Line+1, next.Line)
}
