package judges

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/envvar"
)

// importPath is the import path of this package.
const importPath = "github.com/leakgate/leakgate/internal/tests/judges"

// goldenTests matches the tests with golden files.
const goldenTests = "^(TestMap|TestSlices|TestText|TestJSON|TestGoroutines|TestGenerics|TestErrors|TestTemplate|TestRegexp|TestSortedKeys)$"

// A way is a way to build and run the golden tests.
type way struct {
	name       string
	toolchain  string
	race, busy bool
	processors int
}

func ways() (list []way) {
	versions := []string{"local"}
	if runtime.Version() != "go1.27.3" {
		versions = append(versions, "go1.27.3")
	}
	for _, version := range versions {
		for _, race := range []bool{false, true} {
			for _, processors := range []int{1, 8} {
				w := way{toolchain: version, race: race, processors: processors, busy: true}
				w.name = fmt.Sprintf("%s/race=%v/GOMAXPROCS=%d", version, race, processors)
				list = append(list, w)
			}
		}
	}
	return list
}

// The golden files hold, round after round, with both Go versions, with the race detector and
// without, on one processor and on eight, and beside a program that keeps the machine busy. Made
// anew, they are the same. LEAKGATE_ROUNDS=n makes n rounds in each way.
func TestGoldensAreSteady(t *testing.T) {
	if os.Getenv("LEAKGATE_LONG") == "" {
		t.Skip("rounds of minutes; LEAKGATE_LONG=1 runs it")
	}
	rounds := 20
	if text := os.Getenv("LEAKGATE_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		rounds = n
	}
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			folder := copied(t)
			binary := w.build(t)
			defer busy(t)()
			out := w.run(t, binary, folder, rounds)
			passed, unknown := strings.Count(out, "--- PASS: "), strings.Count(out, "--- SKIP: ")
			t.Logf("%d passed, %d could not tell, of %d", passed, unknown, 10*rounds)
			assert.Equal(t, 10*rounds, passed+unknown)
			if !w.race {
				assert.Zero(t, unknown)
				goldens := t.TempDir()
				w.run(t, binary, folder, 1, envvar.Update.Set("1"), envvar.Goldens.Set(goldens))
				before, made := contents(t, filepath.Join(folder, "testdata", "leakcheck")), contents(t, filepath.Join(goldens, importPath))
				assert.Len(t, made, 10)
				for name, text := range made {
					assert.Equal(t, before[name], text, name)
				}
			}
		})
	}
}

// copied copies the golden files to a folder that a test may write to.
func copied(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(folder, "testdata"), os.DirFS("testdata")))
	return folder
}

func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.golden"))
	require.NoError(t, err)
	of := make(map[string]string)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		of[filepath.Base(name)] = string(data)
	}
	return of
}

func (w way) build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "allocs.test")
	args := []string{"test", "-c", "-o", binary, "-ldflags=-s=0 -w=0"}
	if w.race {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+w.toolchain)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// run runs the golden tests for a number of rounds; none may fail.
func (w way) run(t *testing.T, binary, folder string, rounds int, env ...string) string {
	t.Helper()
	cmd := exec.Command(binary, "-test.v", "-test.timeout=2h", "-test.run="+goldenTests, "-test.count="+strconv.Itoa(rounds))
	cmd.Dir = folder
	cmd.Env = append(append(os.Environ(), "CI=", fmt.Sprintf("GOMAXPROCS=%d", w.processors)), env...)
	out, err := cmd.CombinedOutput()
	if !assert.NoError(t, err) {
		t.Log(string(out))
	}
	return string(out)
}

// busy keeps a processor busy until end is called.
func busy(t *testing.T) (end func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, cmd.Start())
	return func() {
		assert.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
}
