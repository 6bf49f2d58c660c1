//go:build unix

package twin

import (
	"os"
	"syscall"
)

// ownGroup starts a command in a process group of its own, so that the whole group can be killed at a time-out: the go command's
// compilers and linkers would live on otherwise.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
