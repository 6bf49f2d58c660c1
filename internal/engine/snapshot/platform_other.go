//go:build !linux || (!amd64 && !arm64)

package snapshot

// Supported says whether snapshots can be taken here.
const Supported = false
