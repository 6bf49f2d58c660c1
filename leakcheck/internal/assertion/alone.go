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

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/refscan"
)

// A golden file says what one test leaves. What tests before and beside it leave depends on which
// run, in which order and how often. So a test whose golden file is to be written, or whose memory
// exceeds it, runs once more in a process of its own, and the outcome there counts. The process is
// this binary with the same flags and environment: a TestMain does its work there, too.

// aloneAtMost bounds how long a test may take alone, if the binary has no timeout.
const aloneAtMost = 10 * time.Minute

// wantsProcess reports whether the test is to be judged in a process of its own: it can be selected
// by its name, and other tests may have run in this process.
func (a *Assertion) wantsProcess() bool {
	if a.T == nil || a.readsOnly || a.RunAlone == nil || a.Env.Alone != "" || a.Env.Measure || a.Env.Repeat {
		return false
	}
	if !strings.HasPrefix(a.Test, "Test") && !strings.HasPrefix(a.Test, "Fuzz") {
		return false // a benchmark
	}
	f := a.Env.Selected
	return !f.Once || f.Run != patternOf(a.Test)
}

// patternOf returns the -run pattern of one test or subtest.
func patternOf(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// runAlone runs the test in a process of its own and returns the outcome of this assertion there.
// An error says why there is none.
func (a *Assertion) runAlone() (*Outcome, error) {
	left := aloneAtMost
	if !a.Time.End.IsZero() {
		if left = a.Time.Left(); left < time.Second {
			return nil, errors.New("there is no time for it")
		}
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "leakgate-alone-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return nil, err
	}
	defer output.Close()
	others := running()
	cmd := exec.Command(binary, append([]string{
		"-test.run=" + patternOf(a.Test), "-test.count=1", "-test.timeout=" + left.Round(time.Millisecond).String(),
	}, passedOn(environ.StartArgs)...)...)
	cmd.Dir, cmd.Env = a.Env.Dir, append(os.Environ(), environ.RunsAlone(dir))
	cmd.Stdout, cmd.Stderr = output, output // a file, not a pipe: what the test leaves behind would keep that open
	ended := cmd.Run()
	o, err := a.readOutcome(filepath.Join(dir, filepath.FromSlash(a.file)), others)
	switch {
	case err == nil:
		return o, nil
	case ended != nil:
		return nil, fmt.Errorf("its process ended before this assertion (%w)%s", ended, lastLine(output.Name()))
	}
	return nil, errors.New("it ended there without this assertion")
}

// lastLine returns the last line that says why a process failed, with a colon; "" if there is none.
func lastLine(file string) string {
	text, _ := os.ReadFile(file)
	last := ""
	for line := range strings.Lines(string(text)) {
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

// leaveOutcome writes an outcome for the process that runs this one: lines of a word and a quoted
// text.
func (a *Assertion) leaveOutcome(o *Outcome) error {
	lines := []string{"verdict " + strconv.Quote(string(o.Verdict)), "message " + strconv.Quote(o.Message)}
	if o.Misuse {
		lines = append(lines, `misuse ""`)
	}
	if o.Verdict == verdict.Unknown {
		cause, way := causeAndRemedy(o.Err)
		lines = append(lines, "cause "+strconv.Quote(cause), "remedy "+strconv.Quote(way))
	}
	for _, note := range o.Notes {
		lines = append(lines, "note "+strconv.Quote(note))
	}
	if c := o.Golden; c != nil && c.Written() {
		lines = append(lines, `written ""`)
	}
	file := filepath.Join(a.Env.Alone, filepath.FromSlash(a.file))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Join(append(lines, `end ""`), "\n")+"\n"), 0o666)
}

// readOutcome reads what leaveOutcome wrote. others says which other tests were running here.
func (a *Assertion) readOutcome(file, others string) (*Outcome, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	o := &Outcome{kept: true}
	var unknown refscan.UnavailableError
	written, whole := false, false
	for line := range strings.Lines(string(text)) {
		word, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		switch word {
		case "verdict":
			o.Verdict = verdict.Verdict(value)
		case "message":
			o.Message = value
		case "misuse":
			o.Misuse = true
		case "cause":
			unknown.Cause = value
		case "remedy":
			unknown.Remedy = value
		case "note":
			o.Notes = append(o.Notes, value)
		case "written":
			written = true
		case "end":
			whole = true
		}
	}
	if !whole {
		return nil, errors.New("the outcome there is cut off")
	}
	if o.Verdict == verdict.Unknown {
		notes := o.Notes
		o = a.Unknown(&unknown)
		o.kept, o.Notes = true, notes
	}
	if written {
		if others != "" {
			o.Notes = append(o.Notes, "made by this test in a process of its own, since "+others)
		}
		a.announce(o.Notes)
	}
	return o, nil
}
