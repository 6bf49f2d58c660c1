//go:build unix && !linux

package sysmem

// mapNoReserve is no flag here: nothing is accounted for before it is written to.
const mapNoReserve = 0

// adviseSmallPages has nothing to do: nobody makes huge pages of small ones here.
func adviseSmallPages([]byte) {}
