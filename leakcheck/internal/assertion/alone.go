package assertion

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/refscan"
)

// A golden file says what one test leaves. What tests before and beside it leave depends on which
// run, in which order and how often. So a test whose golden file is to be written, or whose memory
// exceeds it, runs once more in a process of its own, and the outcome there counts. The process is
// this binary with the same flags and environment: a TestMain does its work there, too.

// A test that runs alone may take twice as long as this process has run so far, and aloneAtLeast,
// but no longer than aloneAtMost: it may wait for what this process holds, such as a file's lock.
const (
	aloneAtLeast = 10 * time.Second
	aloneAtMost  = 10 * time.Minute
)

// wantsProcess reports whether the test is to be judged in a process of its own: it can be selected
// by its name, and other tests may have run in this process.
func (a *Assertion) wantsProcess() bool {
	if a.T == nil || a.readsOnly || a.RunAlone == nil || a.Env.Alone != "" || a.Env.Measure || a.Env.Repeat {
		return false
	}
	if !strings.HasPrefix(a.Test, "Test") && !strings.HasPrefix(a.Test, "Fuzz") {
		return false // a benchmark
	}
	return !a.isAlone()
}

// isAlone reports whether this process runs no other test, and this one once.
func (a *Assertion) isAlone() bool {
	return a.Env.Selected.Once && a.Env.Selected.Run == patternOf(a.Test)
}

// patternOf returns the -run pattern of one test or subtest.
func patternOf(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// key names the assertion among those of all tests: by its golden file, or by its line.
func (a *Assertion) key() string {
	if a.file != "" {
		return filepath.FromSlash(a.file)
	}
	file, err := golden.FileName(a.Test)
	if err != nil {
		return ""
	}
	return filepath.FromSlash(file) + "." + strconv.Itoa(a.At.Line)
}

// runAlone runs the test in a process of its own and returns the outcome of this assertion there.
// An error says why there is none.
func (a *Assertion) runAlone() (*Outcome, error) {
	left := min(aloneAtMost, aloneAtLeast+2*environ.Uptime(a.Now()))
	if !a.Time.End.IsZero() {
		if left = min(left, a.Time.Left()); left < time.Second {
			return nil, errors.New("there is no time for it")
		}
	}
	return a.inProcess(patternOf(a.Test), 1, left)
}

// inProcess runs the tests of a -run pattern so many times in a process of their own and returns
// the outcome of this assertion there.
func (a *Assertion) inProcess(pattern string, times int, left time.Duration) (*Outcome, error) {
	others := running()
	dir, output, ended := a.start(left, "-test.run="+pattern, "-test.count="+strconv.Itoa(times), "-test.timeout="+left.Round(time.Millisecond).String())
	defer os.RemoveAll(dir)
	o, err := a.readOutcome(filepath.Join(dir, a.key()), others)
	switch {
	case err == nil:
		return o, nil
	case ended != nil:
		return nil, fmt.Errorf("its process ended before this assertion (%w)%s", ended, lastLine(output))
	}
	return nil, errors.New("it ended there without this assertion")
}

// start runs this binary for at most left, with flags of package testing and this process's others.
// Its assertions leave their outcomes in dir, which the caller removes, also with an error. The
// alarm of package testing begins with the tests, after what a TestMain does first.
func (a *Assertion) start(left time.Duration, flags ...string) (dir, output string, err error) {
	binary, err := os.Executable()
	if err != nil {
		return "", "", err
	}
	if dir, err = os.MkdirTemp("", "leakgate-alone-"); err != nil {
		return "", "", err
	}
	file, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return dir, "", err
	}
	defer file.Close()
	cmd := exec.Command(binary, append(flags, passedOn(environ.StartArgs)...)...)
	cmd.Dir, cmd.Env = a.Env.Dir, append(os.Environ(), environ.RunsAlone(dir))
	cmd.Stdout, cmd.Stderr = file, file // not a pipe: what the test leaves behind would keep that open
	if err = cmd.Start(); err != nil {
		return dir, "", err
	}
	alarm := time.AfterFunc(left+time.Second, func() { cmd.Process.Kill() })
	defer alarm.Stop()
	err = cmd.Wait()
	text, _ := os.ReadFile(file.Name())
	return dir, string(text), err
}

// lastLine returns the last line that says why a process failed, with a colon; "" if there is none.
func lastLine(output string) string {
	last := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && line != "FAIL" && !strings.HasPrefix(line, "--- ") && !strings.HasPrefix(line, "exit status") {
			last = ": " + line
		}
	}
	return last
}

// forAllTests are the flags of package testing that are about all tests of a run, or about files
// that one process writes.
var forAllTests = []string{
	"run", "skip", "count", "cpu", "shuffle", "timeout", "v", "json", "list", "failfast", "bench", "benchtime", "benchmem", "fuzz", "fuzztime",
	"fuzzcachedir", "fuzzminimizetime", "coverprofile", "gocoverdir", "cpuprofile", "memprofile", "memprofilerate", "blockprofile",
	"blockprofilerate", "mutexprofile", "mutexprofilefraction", "trace", "testlogfile",
}

// passedOn returns the arguments of a test binary without the flags forAllTests.
func passedOn(args []string) (kept []string) {
	for i := 0; i < len(args); i++ {
		if len(args[i]) < 2 || args[i][0] != '-' || args[i] == "--" {
			return append(kept, args[i:]...)
		}
		name, _, hasValue := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		words := 1
		if f := flag.Lookup(name); f != nil && !hasValue && !isBool(f) {
			words = 2
		}
		of, isTesting := strings.CutPrefix(name, "test.")
		if !isTesting || !slices.Contains(forAllTests, of) {
			kept = append(kept, args[i:min(i+words, len(args))]...)
		}
		i += words - 1
	}
	return kept
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// The texts of an outcome that one process leaves for another; the rest are notes, and an end.
const (
	leftVerdict = iota
	leftMessage
	leftMisuse
	leftWritten
	leftCause
	leftRemedy
	leftBroken
	leftNotes
)

// leaveOutcome writes an outcome for the process that runs this one: a quoted text a line, with an
// end. Of several assertions with one key the first one that does not pass is left.
func (a *Assertion) leaveOutcome(o *Outcome) error {
	file := filepath.Join(a.Env.Alone, a.key())
	if before, err := a.readOutcome(file, ""); err == nil && before.Verdict != verdict.Pass {
		return nil
	}
	texts := make([]string, leftNotes)
	texts[leftVerdict], texts[leftMessage] = string(o.Verdict), o.Message
	if o.Misuse {
		texts[leftMisuse] = "misuse"
	}
	if o.Golden != nil && o.Golden.Written() {
		texts[leftWritten] = "written"
	}
	if o.Verdict == verdict.Unknown {
		texts[leftCause], texts[leftRemedy] = causeAndRemedy(o.Err)
	} else if o.Eval != nil {
		_, texts[leftBroken] = o.Eval.Broken()
	}
	var lines []byte
	for _, text := range append(append(texts, o.Notes...), "end") {
		lines = append(strconv.AppendQuote(lines, text), '\n')
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, lines, 0o666)
}

// readOutcome reads what leaveOutcome wrote. others says which other tests were running here.
func (a *Assertion) readOutcome(file, others string) (*Outcome, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var texts []string
	for line := range strings.Lines(string(data)) {
		text, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	end := len(texts) - 1
	if end < leftNotes || texts[end] != "end" {
		return nil, errors.New("the outcome there is cut off")
	}
	o := &Outcome{Verdict: verdict.Verdict(texts[leftVerdict]), Message: texts[leftMessage], Misuse: texts[leftMisuse] != "", broken: texts[leftBroken]}
	if o.Verdict == verdict.Unknown {
		o = a.Unknown(&refscan.UnavailableError{Cause: texts[leftCause], Remedy: texts[leftRemedy]})
	}
	o.kept, o.Notes = true, texts[leftNotes:end]
	if texts[leftWritten] != "" {
		if others != "" {
			o.Notes = append(o.Notes, "made by this test in a process of its own, since "+others)
		}
		a.announce(o.Notes)
	}
	return o, nil
}
