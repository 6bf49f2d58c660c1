package holds

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"example.com/holds/depot"
	"example.com/holds/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

// A program sets up memory and asserts; its variables are a test's own.
type program struct {
	name string
	root string // what the message of a leak has to contain, with spaces between several; "" if all is well
	run  func(t *recorder)
}

var _ leakcheck.TestingT = (*recorder)(nil)

// A recorder is a test that records what is said of it.
type recorder struct {
	name         string
	errors, logs []string
	skipped      string
	cleanups     []func()
}

func (t *recorder) Helper()                   {}
func (t *recorder) Name() string              { return t.name }
func (t *recorder) Logf(f string, a ...any)   { t.logs = append(t.logs, fmt.Sprintf(f, a...)) }
func (t *recorder) Errorf(f string, a ...any) { t.errors = append(t.errors, fmt.Sprintf(f, a...)) }
func (t *recorder) Skipf(f string, a ...any)  { t.skipped = fmt.Sprintf(f, a...) }
func (t *recorder) Cleanup(f func())          { t.cleanups = append(t.cleanups, f) }
func (t *recorder) Failed() bool              { return len(t.errors) > 0 }
func (t *recorder) Skipped() bool             { return t.skipped != "" }

// goldens gives the program a folder for golden files.
func (t *recorder) goldens() {
	dir, err := os.MkdirTemp("", "holds")
	if err != nil {
		panic(err)
	}
	os.Setenv("LEAKGATE_GOLDENS", dir)
	t.Cleanup(func() {
		os.Unsetenv("LEAKGATE_GOLDENS")
		os.RemoveAll(dir)
	})
}

// result runs a program on a goroutine of its own, as a test.
func (p *program) result(t *testing.T) *recorder {
	rec := &recorder{name: t.Name()}
	t.Cleanup(reset)
	p.run(rec)
	for _, f := range slices.Backward(rec.cleanups) {
		f()
	}
	return rec
}

func reset() {
	shop.Reset()
	depot.Reset()
	seen, noted = nil, nil
}

// Variables of the test's package.
var (
	seen  []*shop.Session
	noted *shop.Session
)

// An env is a fixture, as test helpers make them.
type env struct {
	srv      *shop.Server
	sess     *shop.Session
	sessions []*shop.Session
}

//go:noinline // so that it is on the heap
func fixture(e env) *env { return &e }

// A key is for values of contexts.
type key struct{}

// waits starts a goroutine that has a value and only waits.
func waits[T any](v T) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		<-done
		runtime.KeepAlive(v)
	}()
	return func() { close(done); <-ended }
}

// ofMain is a server that a goroutine of TestMain owns.
var ofMain weak.Pointer[shop.Server]

func TestMain(m *testing.M) {
	os.Setenv("LEAKGATE_STRICT", "1") // unknown is neither
	srv := shop.NewServer()
	ofMain = weak.Make(srv)
	stop := waits(srv)
	code := m.Run()
	stop()
	os.Exit(code)
}

func TestLeaking(t *testing.T) {
	programs := slices.Concat(leaksOfMaps, leaksOfContainers, leaksOfStructures, leaksOfHolders, leaksOfLibraries, leaksLeftOut, leaksOfVerbs)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			rec := p.result(t)
			text := strings.Join(rec.errors, "\n")
			switch {
			case text == "":
				t.Fatalf("passed: %q", rec.logs)
			case strings.Contains(text, "UNKNOWN"):
				t.Fatal(text)
			}
			for _, root := range strings.Fields(p.root) {
				if t.Log(text); !strings.Contains(text, root) {
					t.Errorf("does not name %s:\n%s", root, text)
				}
			}
		})
	}
}

func TestHealthy(t *testing.T) {
	programs := slices.Concat(healthyServers, healthyContexts, healthyShared, healthyFunctions, healthyStructures, healthyLibraries, healthyOptions)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			rec := p.result(t)
			if rec.Failed() || rec.Skipped() {
				t.Errorf("skipped: %q\n%s", rec.skipped, strings.Join(rec.errors, "\n"))
			}
		})
	}
}

// TestAmbiguous tells what is said of programs about which one may disagree.
func TestAmbiguous(t *testing.T) {
	for _, p := range ambiguous {
		t.Run(p.name, func(t *testing.T) {
			verdict := "green"
			if rec := p.result(t); rec.Failed() {
				verdict = "red"
			}
			t.Log(verdict)
		})
	}
}
