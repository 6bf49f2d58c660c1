//go:build unix

package gotest

import (
	"os"
	"os/exec"
	"syscall"
)

// A Group is a command and what it starts, together: a Ctrl-C at the terminal reaches leakgate
// only, which passes it on once, and a kill reaches the test binaries too.
type Group struct{ cmd *exec.Cmd }

// NewGroup returns the group of a command that is to be started by Start.
func NewGroup(cmd *exec.Cmd) *Group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &Group{cmd}
}

// Start starts the command.
func (g *Group) Start() error { return g.cmd.Start() }

// Kill ends all of the group, which has been started. There is no error: it may be gone.
func (g *Group) Kill() error {
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
	return nil
}

// signal sends sig to the group. An error means that the group is gone.
func (g *Group) signal(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(-g.cmd.Process.Pid, s)
	}
}

// Close gives back what the group holds.
func (*Group) Close() {}
