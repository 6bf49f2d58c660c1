//go:build amd64 || arm64

package attach

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
)

// The ways of waitid(2) to name what it waits for.
const (
	waitPID   = 1
	waitPIDFD = 3
)

// waited returns an error if a thread of this process waits for the end of a process that is its
// child. The kernel tells such a thread of each stop, too, if this process is the tracer (linux
// kernel/exit.c, wait_task_stopped), and os.(*Process).Wait would return as if the child had ended
// (go1.26 os/pidfd_linux.go, pidfdWait).
func waited(pid int) error {
	if statusOf(pid)["PPid"] != strconv.Itoa(os.Getpid()) {
		return nil
	}
	threads, err := tids(os.Getpid())
	if err != nil {
		return nil
	}
	for _, tid := range threads {
		call, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid))
		if waitsFor(string(call), pid, pidOf) {
			return &remedy.Unavailable{
				Cause:  fmt.Sprintf("another goroutine waits for the end of process %d, and would be told of each stop as if it were the end (os/exec.(*Cmd).Wait)", pid),
				Remedy: "call Wait after the assertions",
			}
		}
	}
	return nil
}

// waitsFor reports whether a system call, as proc_pid_syscall(5) shows it, waits for a process.
// process returns that of a pidfd.
func waitsFor(call string, pid int, process func(fd int) int) bool {
	fields := strings.Fields(call)
	if len(fields) < 3 {
		return false // it runs
	}
	number, _ := strconv.Atoi(fields[0])
	var args [2]int
	for i := range args {
		n, _ := strconv.ParseUint(fields[i+1], 0, 64)
		args[i] = int(int32(n)) // of any child: -1
	}
	switch number {
	case syscall.SYS_WAIT4:
		return args[0] == pid || args[0] == -1
	case syscall.SYS_WAITID:
		switch args[0] {
		case waitPID:
			return args[1] == pid
		case waitPIDFD:
			return process(args[1]) == pid
		}
		return args[0] == 0 // of any child
	}
	return false
}

// pidOf returns the process of a pidfd of this process; 0 if it has none.
func pidOf(fd int) int {
	info, _ := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	for line := range strings.Lines(string(info)) {
		if value, ok := strings.CutPrefix(line, "Pid:"); ok {
			pid, _ := strconv.Atoi(strings.TrimSpace(value))
			return pid
		}
	}
	return 0
}
