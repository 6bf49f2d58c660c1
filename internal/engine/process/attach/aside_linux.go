//go:build amd64 || arm64

package attach

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// A thread of this process that waits for the end of a child is told of the child's ptrace stops,
// too (waiter_linux.go). But it waits for one number, that of the child's main thread; it is not
// told of stops of other threads (linux kernel/exit.c, eligible_pid and do_wait_pid). So the main
// thread of a child is left aside: it is not traced. What is read counts if the main thread has
// slept meanwhile, in one and the same system call. Otherwise the process goes on, and is stopped
// again some milliseconds later.

// asideAttempts bounds how often a process is stopped without its main thread, if nobody waits for
// its end.
const asideAttempts = 15

// errAwake says that a main thread that was left aside ran.
var errAwake error = &remedy.Unavailable{
	Cause:  "the main thread of the process may not be stopped, because a goroutine of this process waits for its end; and that thread did not sleep",
	Remedy: "have the process do less meanwhile, or call Wait after the assertions",
}

// waited has the children that a goroutine was seen to wait for, by number and time of start. It
// goes on to wait, though for moments it cannot be seen: the stops of its child are signals to this
// process (SIGCHLD), which interrupt it.
var waited sync.Map

// leavesAside reports whether the next attempt leaves the main thread aside.
func (f *Frozen) leavesAside(prompt bool) (bool, error) {
	if !isChild(f.pid) {
		return false, nil
	}
	child := [2]int64{int64(f.pid), statOf(f.pid).StartTime}
	switch waiting(f.pid) {
	case waitsForAny:
		return false, &remedy.Unavailable{
			Cause:  fmt.Sprintf("another goroutine waits for the end of any child of this process, and would be told of each stop of process %d as if it were the end", f.pid),
			Remedy: "have it wait for one process (os/exec.(*Cmd).Wait), or after the assertions",
		}
	case waitsForIt:
		waited.Store(child, true)
	}
	if _, ok := waited.Load(child); ok {
		f.NotForked = cmp.Or(f.NotForked, f.asideFailed)
		return true, nil
	}
	// A Wait may begin at any moment, so this comes first. Memory that is read from the process
	// itself is read for so long that the main thread should rather be stopped, too.
	return !prompt && f.NotForked == "" && f.asideFailed == "" && f.Attempts < asideAttempts, nil
}

// A sleep is what a thread in a system call shows of itself.
//
// The kernel counts how often a thread has begun to sleep, when it begins (linux
// kernel/sched/core.c, __schedule). So two looks show one and the same sleep if the thread sleeps
// at both, and if the count that was read before the first look equals the count that is read after
// the second.
type sleep struct{ call, count string }

// callOf returns the system call in which the main thread of a process sleeps; ok is false if it
// runs, or sleeps elsewhere. The kernel looks only once the thread has left its processor (linux
// lib/syscall.c, task_current_syscall).
func callOf(pid int) (call string, ok bool) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, pid))
	return string(b), len(b) > 0 && b[0] >= '0' && b[0] <= '9'
}

// countOf returns how often the main thread of a process has left its processor. ok is false if
// others may write to memory while it sleeps: in a sleep that no signal ends, such as those of a
// parent in vfork, and of a read without a cache.
func countOf(pid int) (count string, ok bool) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, pid))
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "ctxt_switches:") {
			count += line
		}
	}
	return count, count != "" && !strings.Contains(string(b), "\nState:\tD")
}

// thread is what is known of a thread that sleeps in a system call, as fs/proc/base.c,
// proc_pid_syscall, writes it: number, arguments, stack pointer and program counter. In Go's ABI
// the caller of a system call has saved its registers; the link register is not known.
func (s sleep) thread(tid int) (t goruntime.Thread, ok bool) {
	fields := strings.Fields(s.call)
	if len(fields) != 9 {
		return t, false
	}
	var words [8]uint64
	for i := range words {
		var err error
		if words[i], err = strconv.ParseUint(fields[i+1], 0, 64); err != nil {
			return t, false
		}
	}
	return goruntime.Thread{TID: tid, Registers: words[:6], SP: words[6], PC: words[7]}, true
}

// lull begins the time in which the main thread must sleep, once the other threads have stopped.
// Otherwise it returns errAwake.
func (s *stopped) lull() error {
	if !s.aside {
		return nil
	}
	// The count comes first: see sleep.
	count, counted := countOf(s.pid)
	call, sleeps := callOf(s.pid)
	if !counted || !sleeps {
		return errAwake
	}
	s.asleep = sleep{call, count}
	list, err := s.traced()
	for _, tid := range list {
		if s.threads[tid] == nil {
			return errAwake // it has made a thread
		}
	}
	return err
}

// lulled returns errAwake if the main thread has run since lull.
func (s *stopped) lulled() error {
	if !s.aside {
		return nil
	}
	// The count comes last: a sleep that began before it is counted.
	call, sleeps := callOf(s.pid)
	count, counted := countOf(s.pid)
	if !sleeps || !counted || s.asleep != (sleep{call, count}) {
		return errAwake
	}
	return nil
}
