package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/alloc"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/comment"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/diff"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/doctor"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/goldenfile"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/scan"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/stack"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/symbolize"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/vet"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/view"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/watch"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/isolate"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/callrecord"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/shim"
)

func main() {
	if vet.IsTool(os.Args[1:]) {
		vet.Tool()
	}
	if isolate.Asked(os.Args[1:]) {
		os.Exit(isolate.Main(os.Args[1:]))
	}
	if shim.Asked(os.Args[1:]) {
		os.Exit(shim.Main(os.Args[1:]))
	}
	if callrecord.Asked(os.Args[1:]) {
		os.Exit(callrecord.Main(os.Args[1:]))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Environ()))
}

// A command is a sub-command of leakgate. Each has a file of its own, and a topic in the manual.
type command struct {
	name string
	// what it does, for the list of commands; the manual's overview has the same words
	summary string
	run     func(c *cli.Context, args []string) int
}

// commands is a function, since help refers to it.
func commands() []command {
	return []command{
		{"run", "run tests with leakcheck assertions, as a gate", runTests},
		{"alloc", "say what tests and benchmarks allocate, by type and by line", alloc.Run},
		{"comment", "keep one comment with the findings on a pull request", comment.Run},
		{"diff", "compare two runs, or two profiles", diff.Run},
		{"doctor", "try whether leakgate works on this machine", doctor.Run},
		{"golden", "list, check, prune, format or tighten golden files", goldenfile.Run},
		{"merge", "make one run of the shards of a run", mergeShards},
		{"scan", "say what keeps memory alive in another process", scan.Run},
		{"schema", "print the JSON schema of leakgate.json", printSchema},
		{"stack", "say where goroutine stack memory goes", stack.Run},
		{"symbolize", "name the functions in a profile of native memory", symbolize.Run},
		{"vet", "find mistakes in tests that use leakcheck", vet.Run},
		{"view", "show what an assertion found to be retained", view.Run},
		{"watch", "wait until memory of another process jumps, and say who holds it", watch.Run},
		{"completion", "print the completion for a shell", printCompletion},
		{"version", "print the version of leakgate", printVersion},
		{"help", "print the manual, or a topic of it", printHelp},
	}
}

// run is the whole command: it runs the sub-command that args name, and returns the exit code.
func run(args []string, stdout, stderr io.Writer, env []string) int {
	c := &cli.Context{Stdout: stdout, Stderr: stderr, Env: env, Help: func(c *cli.Context, topic string) int { return printHelp(c, []string{topic}) }}
	if len(args) == 0 {
		code := c.UsageError("no command given", "help")
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
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return c.UsageError(fmt.Sprintf("unknown command %q%s", args[0], cli.DidYouMean(args[0], names)), "help")
}

// commandList is a line for each command: its name and what it does.
func commandList() string {
	var b strings.Builder
	for _, cmd := range commands() {
		fmt.Fprintf(&b, "\t%-10s %s\n", cmd.name, cmd.summary)
	}
	return b.String()
}
