//go:build unix && !linux

package offheap

// mapNoReserve is 0: this system does not account for memory before it is written to.
const mapNoReserve = 0

// adviseSmallPages does nothing: this system does not make huge pages of small ones.
func adviseSmallPages([]byte) {}
