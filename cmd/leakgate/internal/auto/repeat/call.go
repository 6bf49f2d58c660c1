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

// A runner calls functions, one at a time, each in the surroundings that the process had at first.
type runner struct {
	journal *journal
	dir     string
	env     []string
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	calls   int // numbers the marks

	parent  int         // the command's process
	calling atomic.Bool // a function runs
	alone   atomic.Bool // the command is gone

	subtests string // pattern, of the orders
	matcher  matcher
}

func newRunner(j *journal) (*runner, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return &runner{journal: j, dir: dir, env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}, nil
}

// restore undoes what a function did to its surroundings. An error means that the next function
// could not work: the folder is gone.
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

// mark tells whoever reads the output that another call begins. It returns the call's number.
func (r *runner) mark(name string) int {
	r.calls++
	_, _ = fmt.Fprintf(r.stdout, "\n%s%d %s\n", Mark, r.calls, name)
	return r.calls
}

// call calls a function once, and reports whether it failed. The function runs as if it were the
// only one of the test binary: package testing waits for its parallel subtests, and forgets its
// records with it.
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
	if r.alone.Load() {
		os.Exit(exitAlone)
	}
	return r.restore() == nil && ok
}

// run calls a test, without the subtests that are not asked for.
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

// callOnce is call that also says whether the test skipped itself. For that, the test is called by
// another function than package testing's, which is one frame more on its stack.
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
		ok = r.call(f) // it may have looked at its stack
	}
	return ok, skipped
}

// matchAll is what RunTests asks about -test.run, which is empty.
func matchAll(string, string) (bool, error) { return true, nil }

// watch ends the process if what it is for takes too long.
func (r *runner) watch(name func() string, limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() {
		if r.isAlone() {
			return // stayWith ends the process
		}
		r.journal.write(Event{Event: "hangs", Function: name(), Took: limit})
		os.Exit(exitHang) // without stacks: to take them waits for a goroutine that cannot be stopped
	})
}
