// Package native is the memory of C code as the rest of leakcheck sees it: the heap of its malloc,
// who holds the blocks, what cutting would free, and the calls behind it. It alone uses the
// engine's packages for that.
package native

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// What the engine finds out.
type (
	Block   = nativeheap.Block     // from C's malloc
	Heap    = nativeheap.Heap      // sums up the blocks that malloc had given out at one moment
	Sum     = nativeholders.Sum    // of blocks
	Holders = nativeholders.Result // of the blocks that were asked for, and of all blocks
)

// Supported reports whether native memory can be read on this system.
const Supported = nativeheap.Supported

// Memory has the operations on native memory. Those that are nil are not called.
type Memory struct {
	Take    func() (*Heap, error) // nil: native memory is not counted
	Blocks  func() ([]Block, error)
	Holders func(context.Context, func(Block) bool) (*Holders, error)
	Freed   func(ctx context.Context, keys []string, asObjects bool) (Sum, error) // the blocks that cutting nodes would free
	// Record records the C calls behind native memory while a batch of calls of op runs twice
	Record func(ctx context.Context, command string, calls, due int, batch func() bool) (*verdict.NativeAnswer, error)
}

// Take reads the heap of this process, as nativeheap.Take does.
func Take() (*Heap, error) { return nativeheap.Take() }

// TakeBlocks reads the blocks of this process by address, as nativeheap.TakeBlocks does.
func TakeBlocks() ([]Block, error) { return nativeheap.TakeBlocks() }

// Count returns the blocks that C code has from malloc: none in a program without a C library.
// Errors are *refscan.UnavailableError.
func (m *Memory) Count() (*Heap, error) {
	cause, remedy := "it is not looked at", "leave out NativeMemory"
	if m.Take != nil {
		h, err := m.Take()
		var u *nativeheap.UnknownError
		switch {
		case err == nil:
			return h, nil
		case IsNone(err):
			return &Heap{}, nil
		case errors.As(err, &u):
			cause, remedy = u.Cause, u.Remedy
		default:
			cause = err.Error()
		}
	}
	return nil, &refscan.UnavailableError{Cause: "native memory cannot be counted: " + cause, Remedy: remedy}
}

// None returns the error for a process of which no native memory is known.
func None() error { return nativeheap.ErrNone }

// IsNone reports whether an error says that a process has no C library.
func IsNone(err error) bool { return errors.Is(err, nativeheap.ErrNone) }

// errBatch says that a batch did not complete.
var errBatch = errors.New("op failed the test, or the time was up, in one of two more batches of calls")

// Record calls batch twice while the command records; each batch is to call op the given
// number of times. It returns what the second batch added. due is how many blocks are expected of a
// hundred calls, 0 if that is not known. The error is the command's message if it fails, and
// errBatch if a batch does not complete.
func Record(ctx context.Context, command string, calls, due int, batch func() bool) (*verdict.NativeAnswer, error) {
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
		return nil, errBatch
	}
	if err != nil {
		if said.Len() > 0 {
			err = errors.New(strings.TrimSpace(said.String()))
		}
		return nil, err
	}
	return verdict.ParseNativeAnswer(out.String())
}

// MappedBlocks is the name of blocks that have a mapping of their own.
const MappedBlocks = "blocks with a mapping each"

// SizeName is the name of blocks of a size.
func SizeName(size int64) string { return "blocks of " + textfmt.Count(size) + " bytes" }

// BlockName is the name under which a block is counted.
func BlockName(b Block) string {
	if b.Mapped() {
		return MappedBlocks
	}
	return SizeName(b.Size)
}
