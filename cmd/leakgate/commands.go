package main

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/alloc"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/doctor"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/goldenfile"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/process"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/repeat"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/results"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/runtests"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/symbolize"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/vet"
)

// commands are all sub-commands, in the order of the manual.
func commands() []command {
	var all []command
	all = []command{
		{"run", "run tests with leakcheck assertions, as a gate", runtests.Run},
		{"alloc", "say what tests, benchmarks or a process allocate, by type and by line", alloc.Run},
		{"diff", "compare two runs, or two profiles", results.Diff},
		{"doctor", "try whether leakgate works on this machine", doctor.Run},
		{"golden", "list, check, prune, format or tighten golden files", goldenfile.Run},
		{"merge", "make one run of the shards of a run", results.Merge},
		{"repeat", "repeat a command against a running server, and find what grows there", repeat.Repeat},
		{"scan", "say what keeps memory alive in another process, once or when it jumps", process.Scan},
		{"symbolize", "name the functions in a profile of native memory", symbolize.Run},
		{"vet", "find mistakes in tests that use leakcheck", vet.Run},
		{"view", "show what a run found to be retained, or a profile", results.View},
		{"completion", "print the completion for a shell", func(c *cli.Context, args []string) int { return printCompletion(c, args, all) }},
		{"version", "print the version of leakgate", printVersion},
		{"help", "print the manual, or a topic of it", printHelp},
	}
	return all
}

// commandList returns a line for each command: its name and its summary.
func commandList() string {
	var b strings.Builder
	for _, cmd := range commands() {
		fmt.Fprintf(&b, "\t%-10s %s\n", cmd.name, cmd.summary)
	}
	return b.String()
}
