package assertion

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/verdict"
)

// ErrBatch says that a batch did not complete.
var ErrBatch = errors.New("op failed the test, or the time was up, in one of two more batches of calls")

// recordNative calls batch twice while the command records; each batch is to call op the given
// number of times. It returns what the second batch added. due is how many blocks are expected of a
// hundred calls, 0 if that is not known. The error is the command's message if it fails, and
// ErrBatch if a batch does not complete.
func recordNative(ctx context.Context, command string, calls, due int, batch func() bool) (*verdict.NativeAnswer, error) {
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
	cmd := exec.CommandContext(ctx, command, verdict.NativeFlag, strconv.Itoa(os.Getpid()), strconv.Itoa(calls), strconv.Itoa(due))
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
			break // Wait says why
		}
		if whole = batch(); !whole {
			break
		}
		_, _ = in.Write(one[:]) // if the command is gone, Wait says why
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
	return verdict.ParseNativeAnswer(out.String())
}
