package headroom

import (
	"syscall"
	"unsafe"
)

var globalMemoryStatus = syscall.NewLazyDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// memoryStatus is MEMORYSTATUSEX of sysinfoapi.h.
type memoryStatus struct {
	length, load                       uint32
	physical, availablePhysical        uint64
	commitLimit, availableCommit       uint64
	virtual, availableVirtual, unknown uint64
}

// ofSystem returns how much memory the system can still commit to this process; it refuses more.
// The limit is that of memory and page files, or of the job that the process is in.
func ofSystem() []Limit {
	var s memoryStatus
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return nil
	}
	return []Limit{{
		Name: "the memory that the system can commit", Max: int64(s.commitLimit), Room: int64(s.availableCommit),
		Remedy: "let memory and page file come to %d MiB or more, run less at the same time (go test -p 1)",
		amount: func(n Need) int64 { return max(n.Resident, n.Private) },
	}}
}

const procFiles = false
