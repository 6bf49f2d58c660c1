//go:build amd64 || arm64

package attach

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The ways of waitid(2) to name what it waits for.
const (
	waitPID   = 1
	waitPIDFD = 3
)

// isChild reports whether a process is a child of this one.
func isChild(pid int) bool { return statusOf(pid)["PPid"] == strconv.Itoa(os.Getpid()) }

// A waiter says whose end a thread waits for.
type waiter uint8

const (
	waitsForNone waiter = iota
	waitsForIt          // one child
	waitsForAny         // any child, or any of a group
)

// waiting returns whether threads of this process wait for the end of a process that is its child.
// The kernel tells such a thread of each stop, too, if this process is the tracer (linux
// kernel/exit.c, wait_task_stopped), and os.(*Process).Wait would return as if the child had ended
// (go1.26 os/pidfd_linux.go, pidfdWait).
func waiting(pid int) (most waiter) {
	threads, err := tids(os.Getpid())
	if err != nil {
		return waitsForNone
	}
	for _, tid := range threads {
		call, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid))
		most = max(most, waitOf(string(call), pid, pidOf))
	}
	return most
}

// waitOf returns whether a system call, as proc_pid_syscall(5) shows it, waits for a process.
// process returns that of a pidfd.
func waitOf(call string, pid int, process func(fd int) int) waiter {
	fields := strings.Fields(call)
	if len(fields) < 3 {
		return waitsForNone // it runs
	}
	number, _ := strconv.Atoi(fields[0])
	var args [2]int
	for i := range args {
		n, _ := strconv.ParseUint(fields[i+1], 0, 64)
		args[i] = int(int32(n)) // of any child: -1
	}
	one := 0
	switch {
	case number == syscall.SYS_WAIT4 && args[0] > 0:
		one = args[0]
	case number == syscall.SYS_WAITID && args[0] == waitPID:
		one = args[1]
	case number == syscall.SYS_WAITID && args[0] == waitPIDFD:
		one = process(args[1])
	case number == syscall.SYS_WAIT4 || number == syscall.SYS_WAITID:
		return waitsForAny
	}
	if one == pid {
		return waitsForIt
	}
	return waitsForNone
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
