package headroom

import (
	"encoding/binary"
	"syscall"
)

// ofSystem returns the machine's memory, less the largest resident size of this process so far. The
// memory of other processes cannot be read without C; the system compresses and swaps memory before
// it kills a process.
func ofSystem() []Limit {
	text, err := syscall.Sysctl("hw.memsize")
	if err != nil {
		return nil
	}
	var size [8]byte // the call drops a zero at the end
	copy(size[:], text)
	total := int64(binary.LittleEndian.Uint64(size[:]))
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil || total <= 0 {
		return nil
	}
	return []Limit{{
		Name: "the machine's memory", Max: total, Room: total - used.Maxrss, amount: resident,
		Remedy: "run less at the same time (go test -p 1), use a machine with %d MiB",
	}}
}

const procFiles = false
