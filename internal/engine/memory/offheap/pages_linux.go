package offheap

import "syscall"

const mapNoReserve = syscall.MAP_NORESERVE

// adviseSmallPages asks for no huge pages. It ignores an error, with which the kernel only takes
// more memory.
func adviseSmallPages(b []byte) {
	const noHugePage = 15 // MADV_NOHUGEPAGE
	_ = syscall.Madvise(b, noHugePage)
}
