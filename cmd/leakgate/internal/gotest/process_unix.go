//go:build unix

package gotest

import (
	"os"
	"os/exec"
	"syscall"
)

// SetGroup gives cmd a process group of its own: a Ctrl-C at the terminal then reaches leakgate
// only, which passes it on once, and a kill reaches the test binaries too.
func SetGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signalGroup sends sig to p's group. An error means that the group is gone.
func signalGroup(p *os.Process, sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(-p.Pid, s)
	}
}

func KillGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
