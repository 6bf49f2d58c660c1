//go:build amd64 || arm64

package alloc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocrun"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	kit "github.com/leakgate/leakgate/internal/testkit/require"
)

// allocated is what the program of testdata allocates when it is told to, by type: objects, and
// bytes.
var allocated = map[string][2]float64{
	"main.session":                    {400_000, 400_000 * 48},
	"main.pair[string,*main.session]": {200_000, 200_000 * 24},
	"string":                          {400_000, 200_000 * (112 + 16)},
	"[]uint8":                         {20_100, 20_000<<10 + 100<<20},
}

// runtimes is how many objects the library may allocate besides: when a collection begins, the
// runtime makes records and goroutines on the stack of whoever allocates.
const runtimes = 20

// begun tells when the command has begun to count.
type begun struct {
	bytes.Buffer
	c chan bool
}

func (b *begun) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), "counting what process ") {
		close(b.c)
	}
	return b.Buffer.Write(p)
}

// startSubject starts the program, which allocates for each line that it reads, until the test
// ends. It writes a line when it has begun, and one when it has allocated.
func startSubject(t *testing.T, exe string, env []string) (subject *exec.Cmd, orders io.Writer, lines *bufio.Scanner) {
	t.Helper()
	subject = exec.Command(exe)
	subject.Env = append(os.Environ(), env...)
	input, err := subject.StdinPipe()
	require.NoError(t, err)
	output, err := subject.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, subject.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = subject.Wait()
	})
	lines = bufio.NewScanner(output)
	require.True(t, lines.Scan())
	return subject, input, lines
}

// count runs the command for a process of the program while it allocates, and returns its output.
func count(t *testing.T, exe string, env []string, args ...string) (stdout string) {
	t.Helper()
	stdout, problem, code := ended(t, exe, env, args...)
	require.Zero(t, code, problem)
	return stdout
}

// ended returns the exit code of such a run, too.
func ended(t *testing.T, exe string, env []string, args ...string) (stdout, problem string, exit int) {
	t.Helper()
	subject, input, lines := startSubject(t, exe, env)
	o, err := Parse(append([]string{"-pid", strconv.Itoa(subject.Process.Pid), "-for", "1h"}, args...))
	require.NoError(t, err)
	ctx, enough := context.WithCancel(t.Context())
	var out bytes.Buffer
	stderr := &begun{c: make(chan bool)}
	code := make(chan int, 1)
	go func() { code <- o.follow(ctx, &cli.Context{Stdout: &out, Stderr: stderr}) }()
	select {
	case <-stderr.c:
		_, err = io.WriteString(input, "\n")
		require.NoError(t, err)
		require.True(t, lines.Scan())
		enough()
		exit = <-code
	case n := <-code:
		enough()
		if strings.Contains(stderr.String(), "may not be looked into") {
			t.Skipf("reading other processes is not permitted here: %s", stderr)
		}
		require.Fail(t, "it ended", "exit code %d: %s", n, stderr)
	}
	return out.String(), stderr.String(), exit
}

func buildAllocating(t *testing.T, flags ...string) string {
	t.Helper()
	return build(t, "allocating", flags...)
}

func build(t *testing.T, program string, flags ...string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), program)
	out, err := exec.Command("go", append(append([]string{"build"}, flags...), "-o", exe, "./testdata/"+program)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return exe
}

func resultOf(t *testing.T, text string) *allocrun.Result {
	t.Helper()
	var r report
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	require.Len(t, r.Packages, 1)
	return r.Packages[0]
}

// TestProcess counts what a process allocates that knows nothing of leakgate: exactly where its
// memory profiler records each object, otherwise within the error that is said.
func TestProcess(t *testing.T) {
	exe := buildAllocating(t)
	file := filepath.Join(t.TempDir(), "allocs.pb.gz")
	exact := resultOf(t, count(t, exe, []string{"GODEBUG=memprofilerate=1"}, "-json", "-o", file))
	for _, row := range exact.Types {
		if want, ok := allocated[row.Name]; ok {
			assert.InDelta(t, want[0], row.Objects, runtimes, row.Name)
			assert.InDelta(t, want[1], row.Bytes, 20<<10, row.Name)
		}
		assert.Zero(t, row.Error, row.Name)
	}
	sites := make(map[string]int64)
	for _, s := range exact.Sites {
		for _, of := range s.Types {
			sites[shortName(s.Func)+" "+of.Name] += of.Objects
		}
	}
	for at, want := range map[string]int64{
		"main.newSession main.session": 400_000, "main.newPair[...] main.pair[string,*main.session]": 200_000,
		"main.text string": 400_000, "main.buffer []uint8": 20_100,
	} {
		assert.InDelta(t, want, sites[at], runtimes, "%s of %v", at, sites)
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	p, err := profile.ParseData(data)
	require.NoError(t, err)
	sum := int64(0)
	for _, s := range p.Sample {
		if s.Label["type"][0] == "main.session" {
			sum += s.Value[0]
			require.Equal(t, "main.allocate", s.Location[1].Line[0].Function.Name, "login is no place of its own: it inlines newSession")
		}
	}
	assert.EqualValues(t, 400_000, sum)

	text := count(t, exe, nil, "-top", "2")
	assert.Regexp(t, `^process \d+ of .*/testdata/allocating: [\d,]+ objects, 1[\d.]+ MiB, allocated in .*s\nestimated from [\d,]+ samples, one in 512.0 KiB: `, text)
	assert.Regexp(t, `\n +[\d,]+ +±\d+% +[\d.]+ MiB +[\d.]+%  main\.session\n`, text)
	assert.Regexp(t, `\n +[\d,]+ +±\d+% +[\d.]+ MiB +[\d.]+%  main\.newSession \(main\.go:\d+\)\n +of [\d,]+ main\.session\n`, text)

	sampled := resultOf(t, count(t, exe, nil, "-json"))
	assert.EqualValues(t, 512<<10, sampled.Sampling.Rate)
	for name, want := range allocated {
		for _, row := range sampled.Types {
			if row.Name == name {
				// The error said is of 1.96 standard deviations. That of 5 is exceeded in one of a
				// million runs.
				assert.InDelta(t, want[0], row.Objects, 5/1.96*float64(row.Error)+runtimes, name)
				assert.Positive(t, row.Error, name)
			}
		}
	}
	require.NotEmpty(t, sampled.Types)
	assert.InDelta(t, 166e6, sampled.Sampling.Bytes, 166e6*5/math.Sqrt(float64(sampled.Sampling.Samples)))
}

// TestProcessAtOtherAddresses names types and lines of a position-independent program.
func TestProcessAtOtherAddresses(t *testing.T) {
	kit.Slow(t)
	r := resultOf(t, count(t, buildAllocating(t, "-buildmode=pie"), []string{"GODEBUG=memprofilerate=1"}, "-json"))
	assert.Empty(t, r.Untraced)
	for name, want := range allocated {
		i := slices.IndexFunc(r.Types, func(row *allocrun.TypeRow) bool { return row.Name == name })
		require.GreaterOrEqual(t, i, 0, name)
		assert.InDelta(t, want[0], r.Types[i].Objects, runtimes, name)
	}
	i := slices.IndexFunc(r.Sites, func(s *allocrun.Site) bool { return s.Func == "main.newSession" })
	require.GreaterOrEqual(t, i, 0)
	assert.InDelta(t, 400_000, r.Sites[i].Objects, runtimes)
}

// TestProcessWithoutSymbols could not tell types, and says so by the exit code. It names the lines.
func TestProcessWithoutSymbols(t *testing.T) {
	kit.Slow(t)
	out, problem, code := ended(t, buildAllocating(t, "-ldflags=-s -w=0"), []string{"GODEBUG=memprofilerate=1"}, "-json")
	assert.Equal(t, cli.Unknown, code)
	assert.Regexp(t, `\nleakgate: could not tell what \S+/testdata/allocating allocates by type: no symbol section\n$`, problem)
	r := resultOf(t, out)
	assert.Positive(t, r.Objects)
	require.NotEmpty(t, r.Sites)
	assert.NotEmpty(t, r.Sites[0].Func)
}

// TestProcessExported tells types and lines of functions that C calls.
func TestProcessExported(t *testing.T) {
	kit.Slow(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	for _, mode := range []string{"exe", "pie"} {
		r := resultOf(t, count(t, build(t, "exported", "-buildmode="+mode), []string{"GODEBUG=memprofilerate=1"}, "-json"))
		require.NotEmpty(t, r.Types)
		assert.Equal(t, "main.boxed", r.Types[0].Name, mode)
		assert.InDelta(t, 100_000, r.Types[0].Objects, runtimes, mode)
		assert.Equal(t, "main.box", r.Sites[0].Func, mode)
	}
}

// TestProcessWithoutProfiler says what to change where nothing is recorded.
func TestProcessWithoutProfiler(t *testing.T) {
	subject, _, _ := startSubject(t, buildAllocating(t, "-tags=bare"), nil)
	var out, stderr bytes.Buffer
	code := Run(&cli.Context{Stdout: &out, Stderr: &stderr}, []string{"-pid", strconv.Itoa(subject.Process.Pid)})
	if strings.Contains(stderr.String(), "may not be looked into") {
		t.Skipf("reading other processes is not permitted here: %s", &stderr)
	}
	assert.Equal(t, cli.Unknown, code)
	assert.Empty(t, out.String())
	assert.Contains(t, stderr.String(), "the memory profiler is off (link runtime/pprof, as net/http/pprof does, and leave runtime.MemProfileRate as it is)")
}
