//go:build !unix

package twin

import (
	"errors"
	"os"
)

// A command is a program that was started.
type command struct{ *os.Process }

// start starts a program. The files are its standard input, output and error output.
func start(dir string, env []string, program string, args []string, files [3]*os.File) (command, error) {
	p, err := os.StartProcess(program, args, &os.ProcAttr{Dir: dir, Env: env, Files: files[:]})
	return command{p}, err
}

// wait waits for the command's end and returns an error if it was not a success.
func (c command) wait() error {
	state, err := c.Wait()
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return err
}

// kill ends the command alone; its children live on.
func (c command) kill() { _ = c.Kill() }
