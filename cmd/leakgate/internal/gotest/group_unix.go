//go:build unix

package gotest

import (
	"os"
	"os/exec"
	"syscall"
)

// A Group is a command and the processes that it starts. A Ctrl-C at the terminal reaches only
// leakgate, which passes it on once; a kill reaches the test binaries, too.
type Group struct{ cmd *exec.Cmd }

// NewGroup returns the group of a command that is to be started by Start.
func NewGroup(cmd *exec.Cmd) *Group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &Group{cmd}
}

// Start starts the command.
func (g *Group) Start() error { return g.cmd.Start() }

// Kill ends all of the group, which has been started. It returns no error: the group may be gone.
func (g *Group) Kill() error {
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
	return nil
}

// signal sends sig to the group. It ignores an error, which means that the group is gone.
func (g *Group) signal(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(-g.cmd.Process.Pid, s)
	}
}

// Close does nothing here: the group holds no resources.
func (*Group) Close() {}
