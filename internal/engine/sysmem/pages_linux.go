package sysmem

import "syscall"

const mapNoReserve = syscall.MAP_NORESERVE

// adviseSmallPages cannot be refused to any harm: the kernel takes more memory then.
func adviseSmallPages(b []byte) {
	const noHugePage = 15 // MADV_NOHUGEPAGE
	_ = syscall.Madvise(b, noHugePage)
}
