package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
)

// display is where people look.
type display struct {
	screen *present.Screen
	color  bool
}

// newDisplay returns the display on w: with an area that shows how far a run is, and colours, if w
// is a terminal and the environment does not object.
func newDisplay(w io.Writer, env []string) *display {
	if !isTerminal(w) || cli.Lookup(env, "TERM") == "dumb" {
		return &display{screen: present.NewScreen(w, nil)}
	}
	file := w.(*os.File)
	width := func() int {
		columns, rows, err := term.GetSize(int(file.Fd()))
		if err != nil || rows <= 0 {
			return 0
		}
		return columns
	}
	return &display{screen: present.NewScreen(w, width), color: cli.Lookup(env, "NO_COLOR") == ""}
}

// beside returns a writer for text that may end up on the terminal of d: it must not disturb the
// area there.
func (d *display) beside(w io.Writer) io.Writer {
	if d.screen.Live() && isTerminal(w) {
		return d.screen
	}
	return w
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
