//go:build unix

package twin

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a command in a process group of its own and has the whole group killed at a time-out: the go command's compilers and
// linkers would live on otherwise.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
