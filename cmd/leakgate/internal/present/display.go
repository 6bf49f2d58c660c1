package present

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

// A Display is the output that people watch while a command runs.
type Display struct {
	Screen *Screen
	Color  bool
}

// OpenDisplay returns the display on w. If w is a terminal, the display has an area that shows the
// progress of a run, and colours, unless TERM=dumb (neither) or NO_COLOR (no colours) is set.
func OpenDisplay(w io.Writer, env []string) *Display {
	if !isTerminal(w) || cli.Lookup(env, "TERM") == "dumb" {
		return &Display{Screen: NewScreen(w, nil)}
	}
	file := w.(*os.File)
	width := func() int {
		columns, rows, err := term.GetSize(int(file.Fd()))
		if err != nil || rows <= 0 {
			return 0
		}
		return columns
	}
	return &Display{Screen: NewScreen(w, width), Color: cli.Lookup(env, "NO_COLOR") == ""}
}

// Beside returns a writer for text that may end up on the terminal of d: it must not disturb the
// area there.
func (d *Display) Beside(w io.Writer) io.Writer {
	if d.Screen.Live() && isTerminal(w) {
		return d.Screen
	}
	return w
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
