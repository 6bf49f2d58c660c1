// Package foreign takes snapshots of other Go processes, which need not know of this module: of
// core files, and of processes by their pid. A snapshot is a refscan.Snapshot like one of this
// process, and is read by the same code.
//
// The process is stopped at any instruction. Where it is therefore unclear what a goroutine's frame
// holds, the frame is scanned conservatively, so that nothing alive is missed; Report.Stopped says
// how much of the report depends on that.
//
// The package is for commands: test binaries do not link it.
package foreign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/process/elfimage"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

const remedyReport = "please report this, with the Go version and the error"

// OpenCore makes a snapshot of a core file, as the kernel writes it for GOTRACEBACK=crash, gcore,
// or delve's dump. exe is the program's file, with debug information. A file without it does not
// suffice, but may be replaced by the unstripped file of the same build. The build IDs of core and
// file must agree, as far as the core has them.
//
// The context bounds only the reading of debug information, 15 ms for each MB of a program that was
// not read before. The core is mapped, not copied, and must not change until the snapshot is
// closed. Errors are of type *refscan.UnavailableError.
func OpenCore(ctx context.Context, core, exe string) (*refscan.Snapshot, error) {
	p, err := openProgram(ctx, exe)
	if err != nil {
		return nil, err
	}
	c, err := elfimage.OpenCore(core, p.file)
	if err != nil {
		_ = p.file.Close()
		return nil, coreError(core, exe, err)
	}
	release := func() error { return errors.Join(c.Close(), p.file.Close()) }
	s, _, err := p.snapshot(c, c.Threads, 0, release)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return s, nil
}

// IsInput reports whether err says that there is no such process or file, or that a file is not one
// of a core or a program.
func IsInput(err error) bool {
	return as[inputError](err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// An inputError is about the content of a file that the caller named.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

func coreError(core, exe string, err error) error {
	u := &refscan.UnavailableError{Cause: core + " cannot be read", Err: inputError{err}}
	switch {
	case as[*elfimage.TruncatedError](err):
		u.Remedy = "make the core file again with room for it: ulimit -c unlimited, and enough free disk space"
	case as[*elfimage.OtherProgramError](err):
		u.Cause, u.Remedy = core+" and "+exe+" do not belong together", "give the file that the process ran, or the unstripped file of the same build"
	}
	return u
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// A program is the data about a process's program that does not need the process.
type program struct {
	file    *elfimage.Program
	index   *debuginfo.Index
	modules *symbol.Modules // the modules of the build; nil if the file does not list them
	build   []debug.BuildSetting
}

func openProgram(ctx context.Context, exe string) (*program, error) {
	file, err := elfimage.OpenProgram(exe)
	if err != nil {
		return nil, &refscan.UnavailableError{Cause: "the program's file cannot be read", Remedy: "give the ELF executable that the process runs, as on linux/amd64 and linux/arm64", Err: inputError{err}}
	}
	info, err := buildInfo(exe)
	if err == nil {
		err = rtlayout.CheckVersion(info.GoVersion)
	}
	if err != nil {
		_ = file.Close()
		return nil, &refscan.UnavailableError{Cause: exe + " is no program that can be looked into", Remedy: "programs of " + rtlayout.SupportedVersions() + " can", Err: err}
	}
	index, err := openIndex(ctx, exe)
	if err != nil {
		_ = file.Close()
		u := &refscan.UnavailableError{Cause: "the debug information of " + exe + " cannot be had", Err: err}
		if known := (*debuginfo.Unavailable)(nil); errors.As(err, &known) {
			u.Err = known.Err
			u.Cause += ": " + known.Cause
		}
		u.Remedy = "give the file of the same build that was not stripped: go build without -ldflags='-s -w'"
		return nil, u
	}
	return &program{file, index, symbol.ModulesOf(info), info.Settings}, nil
}

// buildInfo reads the build information of an executable.
func buildInfo(exe string) (*debug.BuildInfo, error) {
	f, err := objfile.OpenELF(exe)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.BuildInfo()
}

// openIndex opens the index of an executable's debug information.
func openIndex(ctx context.Context, exe string) (*debuginfo.Index, error) {
	f, err := objfile.OpenELF(exe)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return debuginfo.Open(ctx, debuginfo.Options{File: f, NoTwin: true})
}

// snapshot reads the runtime's structures. lost is the number of goroutines whose position is not
// known. If it fails, release is not called.
func (p *program) snapshot(source image.Source, threads []goruntime.Thread, pause time.Duration, release func() error) (s *refscan.Snapshot, lost int, err error) {
	snapshot.BeginStopped()
	model, err := goruntime.LoadStopped(image.NewSpace(source), p.index, p.file.Bias(), p.file.GOARCH, threads)
	if short := (*snapshot.Unavailable)(nil); errors.As(snapshot.MemoryError(err), &short) {
		return nil, 0, (*refscan.UnavailableError)(short)
	}
	if err != nil {
		return nil, 0, &refscan.UnavailableError{Cause: "the runtime's structures in the process cannot be read", Remedy: remedyReport, Err: err}
	}
	if err := p.checkCode(model); err != nil {
		return nil, 0, err
	}
	return (*refscan.Snapshot)(snapshot.OfStopped(model, p.index, p.modules, pause, release)), model.Stopped.Lost, nil
}

// checkCode compares the address of the program's code in the process with that in the file. Where
// build IDs are missing, that distinguishes programs.
func (p *program) checkCode(model *goruntime.Model) error {
	text, of := model.Modules[0].Code(), p.file.Text()
	if of.Len != 0 && (text.Addr < of.Addr || text.End() > of.End()) {
		return &refscan.UnavailableError{
			Cause: "the process does not run the program's file", Remedy: "give the file that the process ran, or the unstripped file of the same build",
			Err: fmt.Errorf("its code lies from %#x to %#x, and that of the file from %#x to %#x", text.Addr, text.End(), of.Addr, of.End()),
		}
	}
	return nil
}
