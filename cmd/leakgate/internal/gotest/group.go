package gotest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
)

// Run starts the command of the group and waits for its end, as exec.Cmd.Run does.
func (g *Group) Run() error {
	if err := g.Start(); err != nil {
		return err
	}
	return g.cmd.Wait()
}

// Output runs a command in dir and returns what it and its children print. If ctx ends, all of them
// are interrupted, compilers and linkers too. What does not end within killAfter is killed. A go
// command that ends so may leave its temporary folder (go-build*).
func Output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &out
	group := NewGroup(cmd)
	defer group.Close()
	cmd.Cancel = func() error {
		group.signal(os.Interrupt)
		return nil
	}
	cmd.WaitDelay = killAfter
	err := group.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = group.Kill()
	}
	return out.Bytes(), err
}
