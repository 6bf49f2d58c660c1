package goruntime

// arch is what frames look like on an architecture (internal/goarch, runtime/internal/sys).
type arch struct {
	usesLR       bool   // return addresses live in a link register first
	minFrameSize uint64 // words at the bottom of each frame for a callee
	stackAlign   uint64
	pcQuantum    uint64
	minLocals    uint64 // frames up to this size have no locals map (runtime/stkframe.go:getStackMap)
}

var archs = map[string]arch{
	"amd64": {minFrameSize: 0, stackAlign: 8, pcQuantum: 1, minLocals: 0},
	"arm64": {usesLR: true, minFrameSize: 8, stackAlign: 16, pcQuantum: 4, minLocals: 16},
}
