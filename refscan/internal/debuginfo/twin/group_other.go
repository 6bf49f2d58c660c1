//go:build !unix

package twin

import (
	"os"
	"syscall"
)

// ownGroup leaves a command as it is; only the go command itself is killed at a time-out.
func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }
