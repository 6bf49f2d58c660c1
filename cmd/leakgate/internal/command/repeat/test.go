package repeat

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// testName is the name of the assertion in reports.
const testName = "repeat"

// A test is what the assertion takes for a test: it has a name and an end, and it fails.
type test struct {
	ctx      context.Context
	deadline time.Time
	failed   bool
	errors   []string
	logs     []string
	broken   error // why the command failed
}

func (t *test) Name() string { return testName }

func (t *test) Helper() {}

func (t *test) Deadline() (time.Time, bool) { return t.deadline, true }

func (t *test) Failed() bool { return t.failed }

func (t *test) Skipped() bool { return false }

func (t *test) Errorf(format string, args ...any) {
	t.failed = true
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

func (t *test) Logf(format string, args ...any) {
	t.logs = append(t.logs, fmt.Sprintf(format, args...))
}

// call runs the command once. A command that fails, or does not return in time, fails the test.
func (t *test) call(command, env []string) {
	if t.ctx.Err() != nil {
		t.failed = true
		return
	}
	ctx, cancel := context.WithDeadline(t.ctx, t.deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var output tail
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, &output, &output, time.Second
	group := gotest.NewGroup(cmd)
	defer group.Close()
	cmd.Cancel = group.Kill
	if err := group.Run(); err != nil {
		t.failed = true
		switch {
		case t.ctx.Err() != nil:
		case ctx.Err() != nil:
			t.broken = fmt.Errorf("%s: it did not return in time%s", strings.Join(command, " "), output.said())
		default:
			t.broken = fmt.Errorf("%s: %w%s", strings.Join(command, " "), err, output.said())
		}
	}
}
