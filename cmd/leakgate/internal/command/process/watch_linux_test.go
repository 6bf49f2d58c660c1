//go:build amd64

package process

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// A subject is a running program.
type subject struct {
	t        *testing.T
	exe, pid string
	input    io.WriteCloser
}

// start builds the subject and runs it.
func start(t *testing.T) *subject {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "subject")
	out, err := exec.Command("go", "build", "-o", exe, "./testdata/subject").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return run(t, exe)
}

func run(t *testing.T, exe string) *subject {
	t.Helper()
	cmd := exec.Command(exe)
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return &subject{t, exe, strconv.Itoa(cmd.Process.Pid), input}
}

func (s *subject) say(line string) {
	s.t.Helper()
	_, err := io.WriteString(s.input, line+"\n")
	require.NoError(s.t, err)
}

// A watching is the command while it runs.
type watching struct {
	t      *testing.T
	lines  *bufio.Scanner
	seen   strings.Builder
	stderr bytes.Buffer
	code   chan int
}

func begin(ctx context.Context, t *testing.T, args ...string) *watching {
	t.Helper()
	o, err := ParseScan(append([]string{"-watch"}, args...))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	r, w := io.Pipe()
	running := &watching{t: t, lines: bufio.NewScanner(r), code: make(chan int, 1)}
	go func() {
		code := o.follow(ctx, &cli.Context{Stdout: w, Stderr: &running.stderr})
		_ = w.Close()
		running.code <- code
	}()
	return running
}

// until reads output up to a line that contains text.
func (w *watching) until(text string) {
	w.t.Helper()
	for w.lines.Scan() {
		w.seen.WriteString(w.lines.Text() + "\n")
		if strings.Contains(w.lines.Text(), text) {
			return
		}
	}
	out, stderr, code := w.end()
	require.Failf(w.t, "it ended", "exit code %d without %q:\n%s%s", code, text, out, stderr)
}

// end reads the rest, and returns all output and the exit code. If a container forbids access to
// the process, it skips the test.
func (w *watching) end() (out, stderr string, code int) {
	for w.lines.Scan() {
		w.seen.WriteString(w.lines.Text() + "\n")
	}
	code = <-w.code
	if strings.Contains(w.stderr.String()+w.seen.String(), "may not be looked into") {
		w.t.Skipf("ptrace is not permitted here: %s", w.stderr.String())
	}
	return w.seen.String(), w.stderr.String(), code
}

// watch reports a spike with its holder, and keeps it. The process goes on, and its end is
// reported.
func TestWatch(t *testing.T) {
	s, dir := start(t), t.TempDir()
	w := begin(context.Background(), t, "-pid", s.pid, "-spike", "20%,+8MiB", "-o", dir, "-every", "24h")
	w.until("alive as a rule")
	s.say("spike")
	w.until("kept in ")
	s.say("enough")
	require.NoError(t, s.input.Close())
	out, stderr, code := w.end()
	assert.Equal(t, cli.Findings, code, out)
	assert.Empty(t, stderr)
	assert.Contains(t, out, "process "+s.pid+" has ended: ")
	assert.Regexp(t, `, 1 spike(, and since the last one .* left out because of -every)?\n$`, out)
	assert.Contains(t, out, "24.0 MiB more via main.holdForAWhile.rows  [][]uint8\n    held by the variable main.holdForAWhile.rows")
	assert.NotContains(t, out, "more via main.longLived")
	folders, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	scan, err := scanreport.Read(filepath.Join(folders[0], "report.json"))
	require.NoError(t, err)
	base, err := scanreport.Read(filepath.Join(folders[0], "base.json"))
	require.NoError(t, err)
	assert.Greater(t, scan.Report.Totals.LiveBytes, base.Report.Totals.LiveBytes+23<<20)
	for _, name := range []string{"retained.pb.gz", "spike.txt", "heap.base.pb.gz", "heap.pb.gz"} {
		_, err := os.Stat(filepath.Join(folders[0], name))
		require.NoError(t, err)
	}
}

// A stripped process is watched with the unstripped file of the same build.
func TestWatchStripped(t *testing.T) {
	if _, err := exec.LookPath("strip"); err != nil {
		t.Skip("the command strip is not installed; it comes with binutils")
	}
	t.Setenv("LEAKGATE_CACHE", t.TempDir()) // the cache does not know the build
	s := start(t)
	whole := s.exe
	stripped := filepath.Join(t.TempDir(), "stripped")
	out, err := exec.Command("strip", "-o", stripped, whole).CombinedOutput()
	require.NoError(t, err, "%s", out)
	s = run(t, stripped)

	_, stderr, code := begin(context.Background(), t, "-pid", s.pid).end()
	require.Equal(t, cli.Unknown, code)
	require.Contains(t, stderr, "give the file of the same build that was not stripped")

	w := begin(context.Background(), t, "-pid", s.pid, "-exe", whole, "-spike", "+8MiB", "-max", "1", "-nobase")
	w.until("alive as a rule")
	s.say("spike")
	text, stderr, code := w.end()
	assert.Equal(t, cli.Findings, code, text)
	assert.Empty(t, stderr)
	assert.Contains(t, text, "main.holdForAWhile.rows  [][]uint8  (1 goroutine)\n")
	assert.Contains(t, text, "\nthat were all of -max 1: ")
	assert.NotContains(t, text, "snapshot to compare with")
}

// Without a spike the exit code is 0, whether the process ends or the command is interrupted.
func TestWatchWithoutSpike(t *testing.T) {
	s := start(t)
	ctx, interrupt := context.WithCancel(context.Background())
	w := begin(ctx, t, "-pid", s.pid, "-poll", "50ms") // the subject collects about each millisecond
	w.until("alive as a rule")
	interrupt()
	out, stderr, code := w.end()
	assert.Equal(t, cli.Pass, code, out)
	assert.Empty(t, stderr)
	assert.Regexp(t, `\ninterrupted: \d+ garbage collections?, [\d,]+ more ended between two readings \(-poll 50ms\), 0 spikes\n$`, out)

	w = begin(context.Background(), t, "-pid", s.pid)
	w.until("alive as a rule")
	require.NoError(t, s.input.Close())
	out, _, code = w.end()
	assert.Equal(t, cli.Pass, code, out)
	assert.Regexp(t, `\nprocess \d+ has ended: \d+ garbage collections?, .*0 spikes\n$`, out)
}

// A process that was not watched for long enough has no verdict.
func TestWatchKnowsNothing(t *testing.T) {
	s := start(t)
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	w := begin(ctx, t, "-pid", s.pid, "-poll", "1h")
	w.until("watching process " + s.pid)
	out, stderr, code := w.end()
	assert.Equal(t, cli.Unknown, code, out)
	assert.Regexp(t, `^leakgate: could not tell: what is usual is known after 3 garbage collections that end while it is watched, and there were \d: `, stderr)
}
