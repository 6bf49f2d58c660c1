package gotest

import (
	"os"
	"os/exec"

	"github.com/leakgate/leakgate/internal/winjob"
)

// A Group is a command and what it starts, together: a Ctrl-C at the console reaches leakgate
// only, which passes it on once, and a kill reaches the test binaries too.
type Group struct {
	cmd *exec.Cmd
	job *winjob.Job
}

// NewGroup returns the group of a command that is to be started by Start.
func NewGroup(cmd *exec.Cmd) *Group { return &Group{cmd, winjob.New(cmd)} }

// Start starts the command.
func (g *Group) Start() error { return g.job.Start() }

// Kill ends all of the group, which has been started. There is no error: it may be gone.
func (g *Group) Kill() error {
	_ = g.job.Kill()
	return nil
}

// signal passes a Ctrl-C on as a Ctrl-Break, the one of the two that can be sent to a group. Where
// there is no console, all are killed.
func (g *Group) signal(os.Signal) {
	if g.job.Interrupt() != nil {
		_ = g.job.Kill()
	}
}

// Close ends what is left of the group.
func (g *Group) Close() { g.job.Close() }
