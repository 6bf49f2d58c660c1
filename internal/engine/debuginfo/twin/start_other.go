//go:build !unix && !windows

package twin

import "os/exec"

// A group is a command alone here: one that is killed leaves its children alive.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group { return &group{cmd} }

func (g *group) run() error { return g.cmd.Run() }

func (*group) end() {}
