package gotest

import (
	"os"
	"os/exec"

	"github.com/leakgate/leakgate/internal/winjob"
)

// A Group is a command and the processes that it starts. A Ctrl-C at the console reaches only
// leakgate, which passes it on once; a kill reaches the test binaries, too.
type Group struct {
	cmd *exec.Cmd
	job *winjob.Job
}

// NewGroup returns the group of a command that is to be started by Start.
func NewGroup(cmd *exec.Cmd) *Group { return &Group{cmd, winjob.New(cmd)} }

// Start starts the command.
func (g *Group) Start() error { return g.job.Start() }

// Kill ends all of the group, which has been started. It returns no error: the group may be gone.
func (g *Group) Kill() error {
	_ = g.job.Kill()
	return nil
}

// signal passes a Ctrl-C on as a Ctrl-Break, since only that can be sent to a group. Without a
// console, it kills the group.
func (g *Group) signal(os.Signal) {
	if g.job.Interrupt() != nil {
		_ = g.job.Kill()
	}
}

// Close ends what is left of the group.
func (g *Group) Close() { g.job.Close() }
