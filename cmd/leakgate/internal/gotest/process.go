package gotest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Exit is how the go command ended.
type Exit struct {
	Code        int  // -1 if a signal killed it
	Interrupted bool // a signal came from signals
}

// killAfter is how long an interrupted go command has to end by itself.
const killAfter = 10 * time.Second

// Start runs the invocation's go command and calls handle for each line of its output, as Read
// does, until it ends. Standard error of the go command and its children goes to stderr.
//
// The go command has a process group of its own if the system has such groups. The first of signals
// is passed on to that group; the second, or killAfter, kills it. onSignal is called before the
// first signal is passed on, on another goroutine than handle.
//
// Without packages it does nothing.
//
// The error is that of starting the command or of reading its output, never its exit code.
func (inv *Invocation) Start(
	stderr io.Writer, signals <-chan os.Signal, onSignal func(), handle func(line []byte, ev *Event) error,
) (Exit, error) {
	if len(inv.Packages) == 0 {
		return Exit{}, nil
	}
	cmd := exec.Command("go", inv.Args()...)
	cmd.Dir, cmd.Env, cmd.Stderr = inv.Dir, inv.Env, stderr
	cmd.WaitDelay = killAfter // a grandchild may outlive the go command and hold stderr
	group := NewGroup(cmd)
	defer group.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return Exit{}, fmt.Errorf("go test: %w", err)
	}
	if err := group.Start(); err != nil {
		return Exit{}, fmt.Errorf("go test: %w", err)
	}
	ended := make(chan struct{})
	forwarded := make(chan bool, 1)
	go func() { forwarded <- group.forward(signals, onSignal, ended) }()

	readErr := Read(stdout, handle)
	if readErr != nil {
		_ = group.Kill() // nobody reads on: the go command would wait for ever
	}
	waitErr := cmd.Wait()
	close(ended)
	exit := Exit{Code: cmd.ProcessState.ExitCode(), Interrupted: <-forwarded}
	if readErr != nil {
		return exit, fmt.Errorf("go test: reading its output: %w", readErr)
	}
	if _, ok := errors.AsType[*exec.ExitError](waitErr); waitErr != nil && !ok && !errors.Is(waitErr, exec.ErrWaitDelay) {
		return exit, fmt.Errorf("go test: %w", waitErr)
	}
	return exit, nil
}

// forward passes signals on until ended is closed, and reports whether there was one.
func (g *Group) forward(signals <-chan os.Signal, onSignal func(), ended <-chan struct{}) bool {
	select {
	case <-ended:
		return false
	case sig := <-signals:
		onSignal()
		g.signal(sig)
	}
	deadline := time.NewTimer(killAfter)
	defer deadline.Stop()
	select {
	case <-ended:
	case <-signals:
		_ = g.Kill()
	case <-deadline.C:
		_ = g.Kill()
	}
	return true
}
