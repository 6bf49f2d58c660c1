package goldenfile

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// A writer writes golden files, one whole file after another: an interrupt ends it in between, so
// that nothing is left behind.
type writer struct{ signals chan os.Signal }

func newWriter() *writer {
	w := &writer{make(chan os.Signal, 1)}
	signal.Notify(w.signals, os.Interrupt, syscall.SIGTERM)
	return w
}

// write writes a golden file, unless there was an interrupt, which is an error then. It removes
// what a process that was killed left beside the file.
func (w *writer) write(path string, f *golden.File) error {
	select {
	case <-w.signals:
		return errors.New("interrupted; the golden files named above are written, the others as they were")
	default:
		wholefile.Clean(filepath.Dir(path))
		return golden.Write(path, f)
	}
}

func (w *writer) close() { signal.Stop(w.signals) }
