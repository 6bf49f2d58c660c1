package twin

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// waitDelay is how long a killed command's children may keep its output open.
const waitDelay = 5 * time.Second

// outputLimit is how much of the beginning of an output is kept.
const outputLimit = 64 << 10

// run runs a program in a folder and returns its output. The program and its children are killed
// when ctx ends, and when this process ends.
func run(ctx context.Context, dir string, env []string, program string, args ...string) (string, error) {
	var out firstBytes
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = waitDelay
	group := newGroup(cmd)
	defer group.end()
	err := group.run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the command succeeded, and left children behind
	}
	return string(out), err
}

// firstBytes is a writer that keeps the first outputLimit bytes.
type firstBytes []byte

func (b *firstBytes) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), outputLimit-len(*b))]...)
	return len(p), nil
}

// executable returns an error if a file cannot be run.
func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if m := info.Mode(); m.IsDir() || !hasExtension && m&0o111 == 0 {
		return &fs.PathError{Op: "run", Path: file, Err: fs.ErrPermission}
	}
	return nil
}

// lookPath finds the go command in path, a PATH that may differ from the process's current one.
func lookPath(path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, goName); filepath.IsAbs(dir) && executable(file) == nil {
			return file, nil
		}
	}
	return "", &exec.Error{Name: goName, Err: fs.ErrNotExist}
}
