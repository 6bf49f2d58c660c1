package judges_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// programs is the folder of the module of the examples. It is a module of its own, since memory of
// packages below leakgate's folder internal counts as the tool's, and since holmes requires many.
const programs = "testdata/programs"

// inPrograms runs the go command in that module.
func inPrograms(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = programs
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "GOWORK" && !strings.HasPrefix(name, "LEAK") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// A process is a program while it runs.
type process struct {
	pid   string
	input io.Writer
	lines *bufio.Scanner // what it prints
}

// start builds a program and runs it until the test ends. The program ends when its
// input does.
func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	exe := filepath.Join(t.TempDir(), name)
	inPrograms(t, "build", "-o", exe, "./"+name)
	cmd := exec.Command(exe, args...)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	// A program that waits for what does not come must not keep the test waiting.
	limit := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		limit.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{strconv.Itoa(cmd.Process.Pid), input, bufio.NewScanner(stdout)}
}

// line reads the next line that the program prints.
func (p *process) line(t *testing.T) string {
	t.Helper()
	require.True(t, p.lines.Scan(), "the program ended: %v", p.lines.Err())
	return p.lines.Text()
}

// readProfile reads a profile of any form that pprof reads.
func readProfile(t *testing.T, file string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	p, err := profile.ParseData(data)
	require.NoError(t, err)
	return p
}

// names returns the names of a sample's functions, the innermost first.
func names(s *profile.Sample) (list []string) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			list = append(list, line.Function.Name)
		}
	}
	return list
}

// valueIndex is the index of a sample type.
func valueIndex(t *testing.T, p *profile.Profile, name string) int {
	t.Helper()
	for i, s := range p.SampleType {
		if s.Type == name {
			return i
		}
	}
	require.Fail(t, "no sample type "+name)
	return 0
}
