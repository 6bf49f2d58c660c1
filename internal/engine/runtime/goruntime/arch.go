package goruntime

// arch describes the frames and signal frames of an architecture (internal/goarch,
// runtime/internal/sys).
type arch struct {
	usesLR       bool   // calls leave the return address in a link register
	minFrameSize uint64 // words at the bottom of each frame that belong to the callee
	stackAlign   uint64
	pcQuantum    uint64
	// frames up to this size have no locals map (runtime/stkframe.go:getStackMap)
	minLocals uint64

	// Layout of what the kernel saves for a signal handler: the offset of the general registers
	// from the word that holds the signal stack's address, the least number of words from that word
	// on, and the indexes of three registers.
	sigRegisters, sigWords uint64
	sigPC, sigSP, sigLR    uint64
}

var archs = map[string]arch{
	"amd64": {minFrameSize: 0, stackAlign: 8, pcQuantum: 1, minLocals: 0, sigRegisters: 24, sigWords: 20, sigPC: 16, sigSP: 15},
	"arm64": {usesLR: true, minFrameSize: 8, stackAlign: 16, pcQuantum: 4, minLocals: 16, sigRegisters: 168, sigWords: 54, sigPC: 32, sigSP: 31, sigLR: 30},
}
