//go:build !unix && !windows

package twin

import "os/exec"

// On this system a group is only a command: the children of a killed command live on.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group { return &group{cmd} }

func (g *group) run() error { return g.cmd.Run() }

func (*group) end() {}
