package repeat

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A runner calls functions, one at a time. Each finds the folder, environment and standard files
// that the process had at first.
type runner struct {
	journal *journal
	dir     string
	env     []string
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	calls   int // number of calls; the last one's number in the marks

	parent     int         // process ID of the command
	calling    atomic.Bool // a function is running
	parentGone atomic.Bool // the command has ended

	counts   bool   // lifetimes are counted
	subtests string // Orders.Subtests
	matcher  matcher
}

func newRunner(j *journal) (*runner, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return &runner{journal: j, dir: dir, env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}, nil
}

// restore undoes what a function did to the folder, the environment and the standard files. An
// error means that the folder is gone, and that no other function can run.
func (r *runner) restore() error {
	os.Stdin, os.Stdout, os.Stderr = r.stdin, r.stdout, r.stderr
	if env := os.Environ(); !slices.Equal(env, r.env) {
		os.Clearenv()
		for _, entry := range r.env {
			if i := strings.IndexByte(entry[1:], '='); i >= 0 { // on Windows a name may begin with "="
				_ = os.Setenv(entry[:i+1], entry[i+2:])
			}
		}
	}
	if err := os.Chdir(r.dir); err != nil {
		return fmt.Errorf("its folder cannot be used any more: %w", err)
	}
	return nil
}

// mark tells the reader of the output that another call begins.
func (r *runner) mark(name string) {
	r.calls++
	_, _ = fmt.Fprintf(r.stdout, "\n%s%d %s\n", Mark, r.calls, name)
}

// call calls a function once, and reports whether it passed. The function runs as if it were the
// only one of the test binary: package testing waits for its parallel subtests, and drops its
// records of the test afterwards.
func (r *runner) call(f *registered) (ok bool) {
	r.mark(f.label())
	r.calling.Store(true)
	if f.call != nil {
		var skipped bool
		ok = f.call(&skipped)
	} else {
		ok = r.run(f)
	}
	r.calling.Store(false)
	if r.parentGone.Load() {
		os.Exit(exitAlone)
	}
	return r.restore() == nil && ok
}

// run calls a test, without the subtests that the pattern leaves out.
func (r *runner) run(f *registered) bool {
	match := matchAll
	if pattern := f.pattern(r.subtests); pattern != "" {
		match = r.matcher.match
		setRun(pattern)
		defer setRun("")
	}
	return testing.RunTests(match, []testing.InternalTest{f.test})
}

// setRun sets -test.run, which package testing reads whenever it runs tests.
func setRun(pattern string) {
	if err := flag.Set("test.run", pattern); err != nil {
		panic(err)
	}
}

// callOnce is call, and also reports whether the test skipped itself. For that it wraps the test in
// a function, which adds one frame to the test's stack.
func (r *runner) callOnce(f *registered) (ok, skipped bool) {
	if f.call != nil {
		wrapped := *f
		wrapped.call = func(*bool) bool { return f.call(&skipped) }
		return r.call(&wrapped), skipped
	}
	wrapped := *f
	wrapped.test.F = func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		f.test.F(t)
	}
	if ok = r.call(&wrapped); !ok {
		ok = r.call(f) // the test may depend on its stack
	}
	return ok, skipped
}

// matchAll is the match function for RunTests where -test.run is empty.
func matchAll(string, string) (bool, error) { return true, nil }

// watch returns a timer that ends the process after limit, with name() recorded as hanging.
func (r *runner) watch(name func() string, limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() {
		if r.isAlone() {
			return // stayWith ends the process
		}
		r.journal.write(Event{Event: "hangs", Function: name(), Took: limit})
		os.Exit(exitHang) // without stacks: taking them waits for a goroutine that cannot be stopped
	})
}
