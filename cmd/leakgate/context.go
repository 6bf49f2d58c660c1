package main

import (
	"fmt"
	"io"
)

// The exit codes that this package decides itself; those of a run are in internal/outcome.
const (
	exitPass  = 0
	exitUsage = 2
)

// context is what a command has of the world.
type context struct {
	stdout, stderr io.Writer
	env            []string
}

// usageError tells what is wrong with the command line, and which command explains more.
func (c *context) usageError(text, help string) int {
	return c.failure("%s (see \"leakgate %s\")", text, help)
}

// failure tells why a command cannot do its work.
func (c *context) failure(format string, args ...any) int {
	fmt.Fprintf(c.stderr, "leakgate: "+format+"\n", args...)
	return exitUsage
}
