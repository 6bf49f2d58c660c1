package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// The exit codes that this package decides itself; those of a run are in internal/outcome.
const (
	exitPass  = 0
	exitUsage = 2
)

func main() {
	if isVetTool(os.Args[1:]) {
		vetTool()
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Environ()))
}

// A command is a sub-command of leakgate. Each has a file of its own, and a topic in the manual.
type command struct {
	name    string
	summary string // what it does, for the list of commands; the manual's overview has the same words
	run     func(c *context, args []string) int
}

// context is what a command has of the world.
type context struct {
	stdout, stderr io.Writer
	env            []string
}

// commands is a function, since help refers to it.
func commands() []command {
	return []command{
		{"run", "run tests with leakcheck assertions, as a gate", runTests},
		{"diff", "compare two runs, or two profiles", diffRuns},
		{"golden", "list, check, prune, format or tighten golden files", keepGoldens},
		{"merge", "make one run of the shards of a run", mergeShards},
		{"schema", "print the JSON schema of leakgate.json", printSchema},
		{"stack", "say where goroutine stack memory goes", printStacks},
		{"vet", "find mistakes in tests that use leakcheck", vetTests},
		{"view", "show what an assertion found to be retained", viewProfile},
		{"completion", "print the completion for a shell", printCompletion},
		{"version", "print the version of leakgate", printVersion},
		{"help", "print the manual, or a topic of it", printHelp},
	}
}

// run is the whole command: it runs the sub-command that args name, and returns the exit code.
func run(args []string, stdout, stderr io.Writer, env []string) int {
	c := &context{stdout, stderr, env}
	if len(args) == 0 {
		code := c.usageError("no command given", "help")
		fmt.Fprint(stderr, "\n"+commandList())
		return code
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

// commandList is a line for each command: its name and what it does.
func commandList() string {
	var b strings.Builder
	for _, cmd := range commands() {
		fmt.Fprintf(&b, "\t%-10s %s\n", cmd.name, cmd.summary)
	}
	return b.String()
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
