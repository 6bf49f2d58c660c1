package policy

import (
	"os"
	"path/filepath"
	"testing"
)

// sizeBudget is by how much a test binary may grow when it calls AssertRetained, in bytes, linked as
// plain "go test" does: without symbols and debug information.
const sizeBudget = 1_500_000

func TestBinarySize(t *testing.T) {
	empty := sizeOf(t, "empty")
	with := sizeOf(t, "assert")
	t.Logf("a test binary with AssertRetained: %.2f MB, %.2f MB more than one without", megabytes(with), megabytes(with-empty))
	if with-empty > sizeBudget {
		t.Errorf("AssertRetained adds %.2f MB to a test binary, the budget is %.2f MB", megabytes(with-empty), megabytes(sizeBudget))
	}
	if with-empty < sizeBudget/50 {
		t.Errorf("AssertRetained adds only %d bytes: was it linked at all?", with-empty)
	}
}

func sizeOf(t *testing.T, folder string) int64 {
	t.Helper()
	binary := filepath.Join(t.TempDir(), folder+".test")
	// The folders are below testdata so that ./... does not run them.
	goLines(t, platform{"linux", "amd64"}, "test", "-c", "-ldflags=-s -w", "-o", binary, "./internal/policy/testdata/size/"+folder)
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }
