package twin

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// os/exec can do what is in this file and more, and adds 40 kB to a stripped program (go1.26.8).

// waitDelay is how long a killed command's children may keep its output open.
const waitDelay = 5 * time.Second

// outputLimit is how much of the beginning of an output is kept.
const outputLimit = 64 << 10

// run runs a program in a folder and returns what it printed. When ctx ends it and its children are killed.
func run(ctx context.Context, dir string, env []string, program string, args ...string) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return "", err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	c, err := start(dir, lastOfEach(env), program, append([]string{program}, args...), [3]*os.File{null, w, w})
	_ = w.Close()
	if err != nil {
		return "", err
	}
	output := make(chan string, 1)
	go func() {
		b := make([]byte, outputLimit)
		n, _ := io.ReadFull(r, b) // what could be read is what there is
		_, _ = io.Copy(io.Discard, r)
		output <- string(b[:n])
	}()
	ended := make(chan error, 1)
	go func() { ended <- c.wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		c.kill()
		<-ended
		err = context.Cause(ctx)
	}
	select {
	case out := <-output:
		return out, err
	case <-time.After(waitDelay):
		_ = r.Close()
		return <-output, err
	}
}

// lastOfEach drops the variables that a later one of the same name replaces: programs take the first.
func lastOfEach(env []string) []string {
	out := make([]string, 0, len(env))
	for i, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		later := false
		for _, other := range env[i+1:] {
			later = later || strings.HasPrefix(other, name+"=")
		}
		if !later {
			out = append(out, kv)
		}
	}
	return out
}

// executable returns an error if a file cannot be run.
func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if m := info.Mode(); m.IsDir() || m&0o111 == 0 {
		return &fs.PathError{Op: "run", Path: file, Err: fs.ErrPermission}
	}
	return nil
}

// lookPath finds the go command in a PATH that need not be the process's own by now.
func lookPath(path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, goName); filepath.IsAbs(dir) && executable(file) == nil {
			return file, nil
		}
	}
	return "", fmterr.Errorf("%s: %w", goName, fs.ErrNotExist)
}
