package main

import (
	"fmt"
	"io"
	"os"
)

// The exit codes that this package decides itself; those of a run are in internal/outcome.
const (
	exitPass  = 0
	exitUsage = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Environ()))
}

// A command is a sub-command of leakgate.
type command struct {
	name string
	run  func(c *context, args []string) int
}

// context is what a command has of the world.
type context struct {
	stdout, stderr io.Writer
	env            []string
}

// commands is a function, since help refers to it.
func commands() []command {
	return []command{
		{"run", runTests},
		{"stack", printStacks},
		{"version", printVersion},
		{"help", printHelp},
	}
}

// run is the whole command: it runs the sub-command that args name, and returns the exit code.
func run(args []string, stdout, stderr io.Writer, env []string) int {
	c := &context{stdout, stderr, env}
	if len(args) == 0 {
		return c.usageError("no command given", "help")
	}
	name := args[0]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			return cmd.run(c, args[1:])
		}
	}
	return c.usageError(fmt.Sprintf("unknown command %q", args[0]), "help")
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
