package main

import (
	"fmt"
	"io"
	"os"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/vet"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/isolate"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/callrecord"
)

func main() {
	if vet.IsTool(os.Args[1:]) {
		vet.Tool()
	}
	if isolate.Asked(os.Args[1:]) {
		os.Exit(isolate.Main(os.Args[1:]))
	}
	if callrecord.Asked(os.Args[1:]) {
		os.Exit(callrecord.Main(os.Args[1:]))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Environ()))
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
			return cmd.execute(c, args[1:])
		}
	}
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return c.UsageError(fmt.Sprintf("unknown command %q%s", args[0], cli.DidYouMean(args[0], names)), "help")
}
