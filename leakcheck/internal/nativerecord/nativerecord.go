// Package nativerecord has the leakgate command record the calls of C code, and name them: that
// takes code which test binaries need not have.
package nativerecord

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/nativestack"
)

// ErrBatch says that a batch did not come to its end.
var ErrBatch = errors.New("op failed the test, or the time was up, in one of two more batches of calls")

// Record calls batch twice, which is to call op so many times, while the command records. It
// returns what came with the second batch; due is how many blocks are expected of a hundred calls,
// 0 if that is not known. What the command says when it fails is the error; another one is
// ErrBatch.
func Record(ctx context.Context, command string, calls, due int, batch func() bool) (*nativestack.Answer, error) {
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	ready, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	var out, said strings.Builder
	cmd := exec.CommandContext(ctx, command, nativestack.Flag, strconv.Itoa(os.Getpid()), strconv.Itoa(calls), strconv.Itoa(due))
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.ExtraFiles = []*os.File{memory, write}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	_ = write.Close()
	if err != nil {
		return nil, err
	}
	whole := true
	for range 2 {
		var one [1]byte
		if _, failed := ready.Read(one[:]); failed != nil {
			break // it says why
		}
		if whole = batch(); !whole {
			break
		}
		_, _ = in.Write(one[:]) // a command that is gone has an exit code
	}
	_ = in.Close()
	err = cmd.Wait()
	if !whole {
		return nil, ErrBatch
	}
	if err != nil {
		if said.Len() > 0 {
			err = errors.New(strings.TrimSpace(said.String()))
		}
		return nil, err
	}
	return nativestack.Parse(out.String())
}
