package snapshot

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
)

// watch looks at the limits of memory while a snapshot is read.
var watch headroom.Watch

// mostReads is how often an image on a disk may be read from there, on average. The passes of a
// scan and of a query each read the heap once, each in an order of its own. Where the image is read
// more often, the tables and the image's pages push each other out of memory, and there is no end
// to it.
const mostReads = 24

// onDisk returns a look at memory for a snapshot with an image on a disk, which the process has not
// begun to read.
func (s *Snapshot) watchOnDisk() func() error {
	before := blocksRead()
	headroom.Spare.Store(s.onDisk - s.onDisk/freeze.DiskShare)
	return func() error {
		if read := blocksRead() - before; read > mostReads*s.onDisk {
			return &thrashing{read: read, short: s.short}
		}
		return watch.Look()
	}
}

// thrashing says that an image on a disk was read too often.
type thrashing struct {
	read  int64 // bytes
	short error // why the image is on a disk
}

func (t *thrashing) Error() string {
	return fmt.Sprintf("memory is too short for the image of the heap, and %d MiB of it were read from a disk so far", t.read>>20)
}

// Unwrap returns why the image is on a disk.
func (t *thrashing) Unwrap() error { return t.short }
