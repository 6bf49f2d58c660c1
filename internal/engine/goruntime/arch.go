package goruntime

// arch is what frames look like on an architecture (internal/goarch, runtime/internal/sys).
type arch struct {
	usesLR       bool   // return addresses live in a link register first
	minFrameSize uint64 // words at the bottom of each frame for a callee
	stackAlign   uint64
	pcQuantum    uint64
	// frames up to this size have no locals map (runtime/stkframe.go:getStackMap)
	minLocals uint64

	// What the kernel saves for a signal handler: where the general registers lie, seen from the
	// address of the signal stack in it, how many words that takes at least, and which of the
	// registers is which.
	sigRegisters, sigWords uint64
	sigPC, sigSP, sigLR    uint64
}

var archs = map[string]arch{
	"amd64": {minFrameSize: 0, stackAlign: 8, pcQuantum: 1, minLocals: 0, sigRegisters: 24, sigWords: 20, sigPC: 16, sigSP: 15},
	"arm64": {usesLR: true, minFrameSize: 8, stackAlign: 16, pcQuantum: 4, minLocals: 16, sigRegisters: 168, sigWords: 54, sigPC: 32, sigSP: 31, sigLR: 30},
}
