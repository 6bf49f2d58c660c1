package isolate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// A run is the run of one test binary.
type run struct {
	folder string
	most   int
	binary string
	args   []string
	flags  flags
	end    time.Time // of the time limit; zero: none

	mu       sync.Mutex
	out      io.Writer
	failed   bool
	stopped  bool // no more is to be started
	children map[int]*os.Process

	signaled chan struct{} // closed at the first signal
}

func newRun(folder string, most int, binary string, args []string) *run {
	r := &run{folder: folder, most: most, binary: binary, args: args, flags: parseFlags(args), out: os.Stdout, children: make(map[int]*os.Process), signaled: make(chan struct{})}
	if r.flags.timeout > 0 {
		r.end = time.Now().Add(r.flags.timeout)
	}
	return r
}

// marker begins a line of package testing's own, where it writes for test2json.
const marker = "\x16"

// all runs all tests, and returns the exit code.
func (r *run) all() int {
	tests := r.list()
	type job struct{ test, pattern string }
	var jobs []job
	for range r.flags.count {
		for _, test := range tests {
			if pattern := patternFor(r.flags.run, test); pattern != "" {
				jobs = append(jobs, job{test, pattern})
			}
		}
	}
	if len(jobs) == 0 {
		return r.whole()
	}
	signals, done := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	defer close(done)
	go r.passOn(signals, done)
	queue := make(chan job)
	var workers sync.WaitGroup
	for range min(r.most, len(jobs)) {
		workers.Go(func() {
			for j := range queue {
				r.one(j.test, j.pattern)
			}
		})
	}
	for _, j := range jobs {
		if r.isStopped() {
			break
		}
		queue <- j
	}
	close(queue)
	workers.Wait()
	if r.failed || r.stopped {
		_, _ = io.WriteString(r.out, marker+"FAIL\n")
		return 1
	}
	_, _ = io.WriteString(r.out, marker+"PASS\n")
	return 0
}

// whole runs the binary as go test would have: no test in it is known that could be isolated.
func (r *run) whole() int {
	cmd := exec.Command(r.binary, r.args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	switch err := cmd.Run(); {
	case cmd.ProcessState == nil:
		fmt.Fprintf(os.Stderr, "leakgate: %v\n", err)
		return 2
	case err != nil:
		return max(1, cmd.ProcessState.ExitCode())
	}
	return 0
}

// isTest matches a line of a listing of tests. TestMain may print other lines.
var isTest = regexp.MustCompile(`^(Test|Example|Fuzz)[^\s]*$`)

// list asks the binary for its tests, in their order. It returns none if the binary fails.
func (r *run) list() []string {
	cmd := exec.Command(r.binary, r.flags.listing()...)
	// What a TestMain asserts without tests is not kept.
	cmd.Env = envvar.Without(os.Environ(), envvar.Artifacts, envvar.Update)
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	var tests []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if isTest.MatchString(line) && line != "TestMain" && !slices.Contains(tests, line) {
			tests = append(tests, line)
		}
	}
	return tests
}

// one runs a test in a process, and shows what it printed.
func (r *run) one(test, pattern string) {
	release := r.slot()
	defer release()
	if r.isStopped() {
		return
	}
	output, err := os.CreateTemp(r.folder, "output-")
	if err != nil {
		r.fails(test, err.Error())
		return
	}
	defer os.Remove(output.Name())
	defer output.Close()
	var left time.Duration
	if !r.end.IsZero() {
		if left = time.Until(r.end).Round(time.Millisecond); left <= 0 {
			r.fails(test, fmt.Sprintf("not run: the time for all tests of the package was over (-timeout %s)", r.flags.timeout))
			return
		}
	}
	cmd := exec.Command(r.binary, r.flags.argsFor(pattern, left)...)
	// A file, not a pipe: a process that the test leaves behind would keep a pipe open.
	cmd.Stdout, cmd.Stderr = output, output
	started := time.Now()
	if err := cmd.Start(); err != nil {
		r.fails(test, err.Error())
		return
	}
	r.count()
	r.add(cmd.Process)
	err = cmd.Wait()
	r.remove(cmd.Process)
	r.awaitSignal(cmd.ProcessState)
	r.show(test, output, cmd.ProcessState, err != nil, time.Since(started))
}

// show copies a process' output, and says how its test ended if the output does not.
func (r *run) show(test string, output *os.File, state *os.ProcessState, failed bool, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if failed {
		r.failed = true
		r.stopped = r.stopped || r.flags.failfast
	}
	_, err := output.Seek(0, io.SeekStart)
	text := &filter{out: r.out, test: test}
	if err == nil {
		err = text.copy(output)
	}
	switch {
	case err != nil:
		r.failed = true
		fmt.Fprintf(r.out, "%s--- FAIL: %s (%.2fs)\n    leakgate: what it printed cannot be read: %v\n", marker, test, took.Seconds(), err)
	case text.ran && !text.ended && !failed:
		r.failed = true
		fmt.Fprintf(r.out, "%s--- FAIL: %s (%.2fs)\n    its process ended with status 0 before it did, or what it printed is cut off: is there room where TMPDIR is?\n", marker, test, took.Seconds())
	case text.ran && !text.ended:
		r.failed = true
		fmt.Fprintf(r.out, "%s--- FAIL: %s (%.2fs)\n    its process ended before it did: %s\n", marker, test, took.Seconds(), state)
	case !text.ran && failed:
		fmt.Fprintf(r.out, "%s=== RUN   %s\n%[1]s--- FAIL: %s (%.2fs)\n    its process ended before it began: %s\n", marker, test, took.Seconds(), state)
	}
}

// fails reports a test that could not be run.
func (r *run) fails(test, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	fmt.Fprintf(r.out, "%s=== RUN   %s\n    %s\n%[1]s--- FAIL: %[2]s (0.00s)\n", marker, test, why)
}

// A filter copies a process' output, except the final result of all of its tests.
type filter struct {
	out        io.Writer
	test       string
	ran, ended bool
}

func (f *filter) copy(from io.Reader) error {
	ended := [][]byte{}
	for _, word := range []string{"PASS", "FAIL", "SKIP"} {
		ended = append(ended, []byte(marker+"--- "+word+": "+f.test+" ("))
	}
	lines, open := newLines(from), false
	for {
		line, err := lines.next()
		if len(line) == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if open && err == nil {
				_, err = io.WriteString(f.out, "\n") // the next process' output begins a line
			}
			return err
		}
		switch string(line) {
		case marker + "PASS\n", marker + "FAIL\n", "testing: warning: no tests to run\n":
			continue
		}
		f.ran = f.ran || bytes.Contains(line, []byte(marker+"=== RUN   "+f.test+"\n"))
		f.ended = f.ended || slices.ContainsFunc(ended, func(end []byte) bool { return bytes.Contains(line, end) })
		if _, err := f.out.Write(line); err != nil {
			return err
		}
		open = line[len(line)-1] != '\n'
	}
}

func (r *run) isStopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

func (r *run) add(p *os.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.children[p.Pid] = p
}

func (r *run) remove(p *os.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.children, p.Pid)
}

// passOn starts no more processes once a signal came. Running processes get the signal too, as
// members of the group, except SIGQUIT, by which go test ends what takes too long: passOn sends it.
func (r *run) passOn(signals <-chan os.Signal, done <-chan struct{}) {
	for first := true; ; first = false {
		select {
		case <-done:
			return
		case sig := <-signals:
			r.mu.Lock()
			r.stopped = true
			if sig == syscall.SIGQUIT {
				for _, p := range r.children {
					_ = p.Signal(sig)
				}
			}
			r.mu.Unlock()
			if first {
				close(r.signaled)
			}
		}
	}
}

// signalWait bounds how long a signal of the group may take to this process, after another of the
// group has ended by it.
const signalWait = time.Second

// awaitSignal waits, if a process ended by a signal that the whole group may have got, until passOn
// has it too: otherwise the next process might be started before.
func (r *run) awaitSignal(ended *os.ProcessState) {
	status, ok := ended.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGINT && status.Signal() != syscall.SIGTERM {
		return
	}
	select {
	case <-r.signaled:
	case <-time.After(signalWait):
	}
}

// slotWait is how long it takes at most to notice a free slot.
const slotWait = 5 * time.Millisecond

// slot waits until fewer processes run than allowed, over all packages. Where the system has no
// locks, each package counts its own.
func (r *run) slot() (release func()) {
	for {
		for i := range r.most {
			f, err := os.OpenFile(filepath.Join(r.folder, fmt.Sprintf("slot-%d", i)), os.O_CREATE|os.O_RDWR, 0o666)
			if err != nil {
				return func() {}
			}
			locked, err := wholefile.TryLock(f)
			if locked || err != nil {
				return func() { _ = f.Close() }
			}
			_ = f.Close()
		}
		if r.isStopped() {
			return func() {}
		}
		time.Sleep(slotWait)
	}
}

// count adds a process to the count of all. It ignores errors.
func (r *run) count() {
	f, err := os.OpenFile(filepath.Join(r.folder, countName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		_, _ = f.Write([]byte{'.'})
		_ = f.Close()
	}
}

// Most is the default number of processes at a time.
func Most() int { return runtime.GOMAXPROCS(0) }
