package policy

import (
	"os"
	"path/filepath"
	"testing"
)

// sizeBudget is by how much a test binary may grow when it calls AssertRetained, in bytes, linked as
// plain "go test" does: without symbols and debug information. Names of source files are shortened, so that
// it does not matter where the checkout is.
const sizeBudget = 1_500_000

func TestBinarySize(t *testing.T) {
	empty := sizeOf(t, "empty")
	with := sizeOf(t, "assert")
	t.Logf("a test binary with AssertRetained: %d bytes, %d more than one without", with, with-empty)
	if with-empty > sizeBudget {
		t.Errorf("AssertRetained adds %d bytes to a test binary, the budget is %d", with-empty, sizeBudget)
	}
	if with-empty < sizeBudget/50 {
		t.Errorf("AssertRetained adds only %d bytes: was it linked at all?", with-empty)
	}
}

func sizeOf(t *testing.T, folder string) int64 {
	t.Helper()
	binary := filepath.Join(t.TempDir(), folder+".test")
	// The folders are below testdata so that ./... does not run them.
	goLines(t, platform{"linux", "amd64"}, "test", "-c", "-trimpath", "-ldflags=-s -w", "-o", binary, "./internal/policy/testdata/size/"+folder)
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
