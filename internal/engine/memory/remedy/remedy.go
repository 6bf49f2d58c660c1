// Package remedy knows why a system refuses the calls that a snapshot makes, and what the user can
// do about it. It is one table, so that no refusal ends as a bare error number.
package remedy

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// An Error is a system call that was refused.
type Error struct {
	Call string // as its manual page is called, such as "memfd_create"
	For  string // what the call was for, "" if the call says so itself
	Err  error  // the error number, as a rule
}

// Error implements error.
func (e *Error) Error() string {
	if e.For == "" {
		return e.Call + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s (%s): %v", e.Call, e.For, e.Err)
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Of returns what the user can do about an error that wraps an *Error, "" for other errors.
func Of(err error) string {
	if e := (*Error)(nil); errors.As(err, &e) {
		return For(e.Call, e.Err)
	}
	return ""
}

// For returns what the user can do about a call that failed.
func For(call string, err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return filtered
	}
	if call == "clone" && errno == syscall.ENOMEM {
		return forkMemory("/proc/sys/vm/overcommit_memory")
	}
	for _, r := range table {
		if (r.call == call || r.call == "") && (r.errno == errno || r.errno == 0) {
			return r.remedy
		}
	}
	return filtered
}

const (
	filtered = "a seccomp filter, a security module or an emulated kernel refuses the call: allow it for the test process " +
		"(docker run --security-opt seccomp=..., securityContext.seccompProfile), or run the test outside of the sandbox"
	memory      = "memory is short: raise the memory limit of the container or ulimit -v and -d, or let the test keep less"
	files       = "too many files are open: raise ulimit -n, or close files before the assertion"
	systemFiles = "too many files are open on this machine: raise fs.file-max, or run less at the same time"
	fileSize    = "the image file may not become as large as the heap: raise ulimit -f"
	imageRoom   = "the file system of the image file is full: allow memfd_create, or make room in /dev/shm " +
		"(docker run --shm-size) and the folder for temporary files (TMPDIR)"
	commit    = "memory is short: enlarge the page file, raise the memory limit of the container or job, or let the test keep less"
	processes = "the limit on processes is reached: raise ulimit -u or the container's limit (pids.max, docker run --pids-limit)"
	noImage   = "the image needs a file: allow memfd_create, or make /dev/shm or the folder for temporary files (TMPDIR) writable"
)

// table is searched from the top: an empty call stands for any call, the error number 0 for any
// error.
var table = []struct {
	call   string
	errno  syscall.Errno
	remedy string
}{
	{"clone", syscall.EAGAIN, processes},
	{"clone", syscall.EINVAL, "the kernel, an emulator or a sandbox does not know this kind of clone: run the test on Linux itself, " +
		"not in a system that imitates it, or under qemu-user 7 or newer"},
	{"memfd_create", syscall.EMFILE, files},
	{"memfd_create", syscall.ENFILE, systemFiles},
	{"memfd_create", syscall.ENOMEM, memory},
	{"memfd_create", 0, noImage},
	{"VirtualAlloc", 0, commit},
	{"mmap", syscall.EAGAIN, "the limit on locked memory is reached: raise ulimit -l, or do not call mlockall"},
	{"mmap", syscall.ENOMEM, "memory is short, or there are too many mappings: raise ulimit -v and -d, the container's memory limit " +
		"or vm.max_map_count, or let the test keep less"},
	{"madvise", syscall.EINVAL, "this kernel does not know MADV_DONTFORK: run the test on Linux 2.6.16 or newer, not in a system that imitates it"},
	{"fdatasync", syscall.EIO, "the disk with the image file fails: set TMPDIR to a folder on another one, or raise the container's memory limit, " +
		"so that the image fits into memory"},
	{"", syscall.EMFILE, files},
	{"", syscall.ENFILE, systemFiles},
	{"", syscall.EFBIG, fileSize},
	{"", syscall.ENOSPC, imageRoom},
	{"", syscall.EDQUOT, imageRoom},
	{"", syscall.ENOMEM, memory},
	{"", syscall.ENOBUFS, memory},
}

// forkMemory returns the remedy if the kernel refuses a fork for lack of memory. With strict
// accounting the copy counts in full, though it shares all its pages (Linux
// Documentation/mm/overcommit-accounting.rst).
func forkMemory(setting string) string {
	data, err := os.ReadFile(setting)
	switch value := strings.TrimSpace(string(data)); {
	case err == nil && value == "2":
		return "vm.overcommit_memory is 2, so that the copy-on-write copy of this process counts in full: set it to 0 or 1, raise " +
			"vm.overcommit_ratio, or add swap"
	case err == nil && value == "0":
		return "the kernel takes the copy-on-write copy of this process for more than this machine has (vm.overcommit_memory is 0 already): " +
			"raise the memory limit, add swap, or let the test keep less"
	case err == nil && value == "1":
		return "the kernel has no memory for page tables: raise the memory limit, or let the test keep less"
	default:
		return "the kernel does not promise memory for a copy-on-write copy of this process: raise the memory limit, add swap, " +
			"or set vm.overcommit_memory to 0 if it is 2"
	}
}
