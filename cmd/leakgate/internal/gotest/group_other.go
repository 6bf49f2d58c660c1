//go:build !unix && !windows

package gotest

import (
	"os"
	"os/exec"
)

// A Group is a command alone: there are no groups of processes here.
type Group struct{ cmd *exec.Cmd }

// NewGroup returns the group of a command that is to be started by Start.
func NewGroup(cmd *exec.Cmd) *Group { return &Group{cmd} }

// Start starts the command.
func (g *Group) Start() error { return g.cmd.Start() }

// Kill ends the command, which has been started. It returns no error: the command may be gone.
func (g *Group) Kill() error {
	_ = g.cmd.Process.Kill()
	return nil
}

// signal kills: there is no signal to send here.
func (g *Group) signal(os.Signal) { _ = g.Kill() }

// Close does nothing.
func (*Group) Close() {}
