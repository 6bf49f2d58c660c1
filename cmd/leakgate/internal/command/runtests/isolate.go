package runtests

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/isolate"
)

// notIsolated are flags of go test that are about the files or numbers of one process, or that run
// the binary in their own way.
var notIsolated = []string{
	"exec", "bench", "fuzz", "list", "c", "cover", "covermode", "coverpkg", "coverprofile",
	"cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace",
}

// isolateTests has an invocation run each test in a process of its own: as many at a time as go
// test runs packages (-p).
func isolateTests(inv *gotest.Invocation) (*isolate.Folder, error) {
	for _, name := range notIsolated {
		if _, ok := inv.Flag(name); ok {
			return nil, fmt.Errorf("-isolate and go test's -%s do not go together: it would be each test's process', not the package's", name)
		}
	}
	most := isolate.Most()
	if value, ok := inv.Flag("p"); ok {
		if n, err := strconv.Atoi(value); err == nil && n > 0 {
			most = n
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("-isolate: %w", err)
	}
	folder, err := isolate.NewFolder()
	if err != nil {
		return nil, fmt.Errorf("-isolate: %w", err)
	}
	if inv.Exec, err = folder.Flag(self, most); err != nil {
		folder.Close()
		return nil, err
	}
	return folder, nil
}

// isolationNote returns a note on the cost of isolation.
func isolationNote(folder *isolate.Folder, took time.Duration) string {
	n := folder.Processes()
	return fmt.Sprintf("-isolate: %d processes in %s with their builds, each of which starts the test binary and its TestMain anew", n, took.Round(100*time.Millisecond))
}
