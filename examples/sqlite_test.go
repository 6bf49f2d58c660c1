package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNativeCalls runs the example of SQLite by leakgate run -native. It expects the call stacks of
// all six blocks of a statement, from the C functions down to the line of Go that prepared it.
func TestNativeCalls(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc")
	}
	command := filepath.Join(t.TempDir(), "leakgate")
	build := exec.Command("go", "build", "-o", command, "./cmd/leakgate")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	artifacts := t.TempDir()
	cmd := exec.Command(command, "run", "-native", "-o", artifacts, ".")
	cmd.Dir = "sqlite"
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=1")
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, want := range []string{
		`\+6\.00 native blocks/op \(\+1\.6 KiB/op\): 1 x 1,024, 1 x 336, 1 x 128, 1 x 48, 2 x 32, with \+1\.00 \*sql\.Stmt/op`,
		`\n +\+1\.00 block/op \(\+1016 B/op\): .* <- sqlite3VdbeAddOp`,
		`\n +all by malloc <- sqlite3MemMalloc`,
		`\n +sqlite3_prepare_v2 \(.*sqlite3-binding\.c:\d+\)\n`,
		`\n +example\.com/store\.\(\*Store\)\.Leaky \(store\.go:15\)\n`,
		`\n  TestFixed +pass `,
	} {
		if !regexp.MustCompile(want).Match(output) {
			t.Errorf("%s is not in the message:\n%s", want, output)
		}
	}
	folder := filepath.Join(artifacts, "tests", "example.com", "store", "TestLeaky", "1")
	top := exec.Command("go", "tool", "pprof", "-traces", "-sample_index=inuse_objects", "-diff_base="+filepath.Join(folder, "native.base.pb.gz"), filepath.Join(folder, "native.pb.gz"))
	traces, err := top.Output()
	if err != nil {
		t.Fatal(err)
	}
	stacks := 0
	for _, block := range strings.Split(string(traces), "-----------+") {
		if strings.Contains(block, " malloc\n") && !strings.Contains(block, "pprof::base") {
			stacks++
			if !strings.Contains(block, "example.com/store.(*Store).Leaky\n") || !strings.Contains(block, "example.com/store.TestLeaky\n") {
				t.Errorf("a stack does not lead to the test:\n%s", block)
			}
		}
	}
	if stacks != 6 {
		t.Errorf("the profile has %d stacks, want 6:\n%s", stacks, traces)
	}
}
