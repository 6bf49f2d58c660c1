package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
)

// display is where people look.
type display struct {
	screen *present.Screen
	color  bool
}

// newDisplay returns the display on w: with a status line and colours if w is a terminal and the
// environment does not object.
func newDisplay(w io.Writer, env []string) *display {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || lookup(env, "TERM") == "dumb" {
		return &display{screen: present.NewScreen(w, nil)}
	}
	width := func() int {
		columns, _, err := term.GetSize(int(file.Fd()))
		if err != nil || columns <= 0 {
			return 80
		}
		return columns
	}
	return &display{screen: present.NewScreen(w, width), color: lookup(env, "NO_COLOR") == ""}
}

// lookup returns the value of a variable; the last of several is the one that counts.
func lookup(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}
