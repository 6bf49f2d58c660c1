//go:build unix

package twin

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// A command is a program that was started: its process id. os.StartProcess keeps more about it, and adds 17 kB to a stripped
// program (go1.26.8).
type command int

// start starts a program in a process group of its own, so that the whole group can be killed at a time-out: the go command's
// compilers and linkers would live on otherwise. The files are its standard input, output and error output.
func start(dir string, env []string, program string, args []string, files [3]*os.File) (command, error) {
	pid, err := syscall.ForkExec(program, args, &syscall.ProcAttr{
		Dir: dir, Env: env, Files: []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()},
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, &fs.PathError{Op: "fork/exec", Path: program, Err: err}
	}
	return command(pid), nil
}

// wait waits for the command's end and returns an error if it was not a success.
func (c command) wait() error {
	var status syscall.WaitStatus
	for {
		switch _, err := syscall.Wait4(int(c), &status, 0, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return os.NewSyscallError("wait4", err)
		case status.Signaled():
			return errors.New("signal: " + status.Signal().String())
		case status.ExitStatus() != 0:
			return errors.New("exit status " + strconv.Itoa(status.ExitStatus()))
		default:
			return nil
		}
	}
}

// kill ends the command and its children.
func (c command) kill() { _ = syscall.Kill(-int(c), syscall.SIGKILL) }
