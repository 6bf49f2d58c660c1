//go:build unix

package snapshot

import "syscall"

// blocksRead is how many bytes the process has waited for a disk to read.
func blocksRead() int64 {
	const block = 512 // getrusage(2), ru_inblock
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return int64(used.Inblock) * block
}
