// Package attach stops another process for as long as it takes to copy it, or for as long as its
// memory is read.
//
// All threads are stopped by ptrace (PTRACE_SEIZE and PTRACE_INTERRUPT, so no signal is sent), one
// of them is made to call clone(2), and all go on: the copy shares memory until a process writes to
// it. The copy never runs. It has no exit signal, so that the process sees no SIGCHLD. It shares
// the table of descriptors, so that sockets that the process closes are closed. It dies with this
// process, whatever kills this process (PTRACE_O_EXITKILL). If no thread can be made to call clone,
// memory is read while all threads are stopped.
//
// The main thread of a child of this process is not stopped if a goroutine waits for the child's
// end, or may begin to. The copy then counts if that thread has slept meanwhile.
package attach

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// Options say how a process is stopped.
type Options struct {
	// NoFork has the memory read while the process is stopped, instead of a copy.
	NoFork bool
	// Prompt is for a moment that does not last, such as the time between two collections: the main
	// thread of a child is stopped with the others, if no goroutine is seen to wait for its end.
	Prompt bool
	// Check is called while all threads are stopped, to read the memory that it needs. If it
	// returns an error that goruntime.IsTransient, the process goes on, and is stopped again some
	// milliseconds later. nil: any moment will do.
	Check func(threads []goruntime.Thread) error
	// SignalStack returns the bounds of the signal stack of a stopped thread by its stack pointer,
	// 0 and 0 if the bounds are not known, or the thread is on that stack. It is called before the
	// thread is made to do a system call; Close calls it, too, while other threads run. nil: no
	// signal stack is known.
	SignalStack func(sp uint64) (lo, hi uint64)
}

// Result describes a stop of a process.
type Result struct {
	Threads   []goruntime.Thread
	Attempts  int           // how often the process was stopped
	Pause     time.Duration // of the last stop; 0 while the process is stopped
	NotForked string        // why memory is read while the process is stopped; "" if it is not
	// Faults counts the page faults of the process while it shared memory with its copy, known
	// after Close. A write to a shared page is one: the page is copied.
	Faults int64
}

const (
	// maxAttempts bounds how often a process is stopped to find a good moment.
	maxAttempts = 50
	// stopTime bounds how long all threads may take to stop. A thread that waits for a disk stops
	// only when the disk answers.
	stopTime = 200 * time.Millisecond
)

// Refused explains why tracing a process was refused, as a *remedy.Unavailable.
func Refused(pid int, err error) error {
	if errors.As(err, new(*remedy.Unavailable)) {
		return err
	}
	e := &remedy.Unavailable{Cause: fmt.Sprintf("process %d may not be looked into", pid), Err: err}
	switch {
	case errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrNotExist):
		e.Cause, e.Remedy = fmt.Sprintf("there is no process %d", pid), "give the pid of a Go program that runs, as this pid namespace numbers it"
		return e
	case !errors.Is(err, os.ErrPermission):
		return e
	}
	status := statusOf(pid)
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	switch tracer := status["TracerPid"]; {
	case tracer != "" && tracer != "0":
		e.Cause, e.Remedy = fmt.Sprintf("process %d is traced by process %s already", pid, tracer), "detach that debugger first: a process has one at a time"
	case strings.TrimSpace(string(scope)) == "3":
		e.Remedy = "kernel.yama.ptrace_scope is 3, which forbids it to everybody until the next boot: look into a core file instead (-core)"
	case !hasPtrace() && strings.TrimSpace(string(scope)) != "0" && len(scope) > 0:
		e.Remedy = "kernel.yama.ptrace_scope allows it for descendants and with CAP_SYS_PTRACE: run this as root (in a container with --cap-add=SYS_PTRACE), or sysctl kernel.yama.ptrace_scope=0"
	case !hasPtrace():
		e.Remedy = "run this as the user of that process, or with CAP_SYS_PTRACE (in a container --cap-add=SYS_PTRACE, in the pid namespace of the process)"
	default:
		e.Remedy = "a security module or a seccomp filter forbids it: allow ptrace to this process, or look into a core file (-core)"
	}
	return e
}

// statusOf reads /proc/PID/status (proc(5)).
func statusOf(pid int) map[string]string {
	fields := make(map[string]string)
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}

// hasPtrace reports whether this process has CAP_SYS_PTRACE.
func hasPtrace() bool {
	const capSysPtrace = 19
	bits, err := strconv.ParseUint(statusOf(os.Getpid())["CapEff"], 16, 64)
	return err == nil && bits>>capSysPtrace&1 != 0
}
