package leakcheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// goldenBeside are tests with golden files that are made while others run, or may seem to be.
const goldenBeside = `package app

import (
	"os"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

var (
	busy []*int
	kept []*int
)

func work(t *testing.T) {
	t.Parallel()
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		busy = append(busy, new(int))
	}
}

func judge(t *testing.T) {
	t.Parallel()
	time.Sleep(100 * time.Millisecond)
	leakcheck.AssertRetained(t)
}

func TestBusy(t *testing.T)     { work(t) }
func TestParallel(t *testing.T) { judge(t) }

func TestNamed(t *testing.T) {
	t.Parallel()
	time.Sleep(100 * time.Millisecond)
	kept = append(kept, new(int))
	leakcheck.AssertRetained(t, leakcheck.Golden("named"))
}

func TestSiblings(t *testing.T) {
	t.Run("busy", work)
	t.Run("judged", judge)
}

// TestNotAlone cannot be judged in a process of its own.
func TestNotAlone(t *testing.T) {
	if os.Getenv("LEAKGATE_ALONE") != "" {
		t.Skip("is not alone")
	}
	judge(t)
}

// These run while the others wait for their turn.
func TestInOrder(t *testing.T) { leakcheck.AssertRetained(t) }

func TestAmong(t *testing.T) {
	t.Run("waits", work)
	t.Run("runs", func(t *testing.T) { leakcheck.AssertRetained(t) })
}
`

// TestEndToEndGoldenBeside checks that a golden file that is made or renewed beside other tests
// says so, plainly and with -v, and that no other says it.
func TestEndToEndGoldenBeside(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	m.empty(t)
	m.write(t, "app_test.go", goldenBeside)
	if out, ok := m.run(t, ".", nil, "go", "test", "-c", "-o", "app.test", "."); !ok {
		t.Fatal(out)
	}
	const alone, counts = "in a process of its own, since ", "what they do may count too"
	for _, tt := range []struct{ run, said string }{
		{"^(TestBusy|TestParallel)$", alone},
		{"^(TestBusy|TestNamed)$", alone},
		{"^TestSiblings$", alone},
		{"^(TestBusy|TestNotAlone)$", counts},
		{"^TestParallel$", ""},
		{"^TestNamed$", ""},
		{"^TestSiblings$/^judged$", ""},
		{"^TestNotAlone$", ""},
		{"^(TestInOrder|TestBusy)$", ""},
		{"^TestAmong$", ""},
	} {
		require.NoError(t, os.RemoveAll(filepath.Join(m.dir, "testdata")))
		for _, args := range [][]string{{}, {"-test.v", "-leakcheck.update"}, {}} {
			if len(args) > 0 { // the files are renewed
				require.NoError(t, filepath.WalkDir(filepath.Join(m.dir, "testdata"), func(name string, e os.DirEntry, err error) error {
					if err != nil || e.IsDir() {
						return err
					}
					return os.WriteFile(name, []byte("leakgate golden v1\n        7            99  example.com/app.gone  *int\n"), 0o600)
				}))
			}
			out, ok := m.run(t, ".", nil, append([]string{"./app.test", "-test.run=" + tt.run}, args...)...)
			written := strings.Contains(out, "created ") || strings.Contains(out, "updated ")
			for _, said := range []string{alone, counts} {
				want := tt.said == said && written
				if !ok || strings.Contains(out, said) != want {
					t.Errorf("%s %q: %v, without %q:\n%s", tt.run, args, want, said, out)
				}
			}
		}
	}
}
