//go:build unix

package twin

import (
	"io"
	"os/exec"
	"syscall"
)

// A group is a process group for a command and its children. Without it the go command's compilers
// and linkers would live on when the command is killed.
//
// The leader is a shell that reads from a pipe. Only this process has the other end, so the shell
// kills the group when this process ends, however it ends. A parent-death signal (prctl,
// PR_SET_PDEATHSIG) would reach the command alone, not its compilers and linkers. The kernel also
// sends it when only the thread that started the command has ended.
type group struct {
	cmd    *exec.Cmd
	leader *exec.Cmd // nil if there is no shell: then the command leads
	pipe   io.Closer
}

// newGroup starts a group for a command.
func newGroup(cmd *exec.Cmd) *group {
	g := &group{cmd: cmd, leader: exec.Command("/bin/sh", "-c", "read line; kill -9 0")}
	g.leader.Dir, g.leader.Env = "/", []string{}
	g.leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := g.leader.StdinPipe()
	if err == nil {
		err = g.leader.Start()
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err != nil {
		g.leader = nil
		cmd.Cancel = func() error { return kill(cmd) }
		return g
	}
	g.pipe = pipe
	cmd.SysProcAttr.Pgid = g.leader.Process.Pid
	cmd.Cancel = func() error { return kill(g.leader) }
	return g
}

// run starts the command and waits for its end.
func (g *group) run() error { return g.cmd.Run() }

// end kills the rest of the group.
func (g *group) end() {
	if g.leader == nil {
		return
	}
	_ = kill(g.leader)
	_ = g.leader.Wait() // it was killed
	_ = g.pipe.Close()
}

// kill kills the process group whose leader is the given command.
func kill(leader *exec.Cmd) error { return syscall.Kill(-leader.Process.Pid, syscall.SIGKILL) }
