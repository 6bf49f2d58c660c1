package main

import "github.com/leakgate/leakgate/cmd/leakgate/internal/cli"

// A command is a sub-command of leakgate. Each has a package or file of its own, and a topic in the
// manual.
type command struct {
	name string
	// what it does, for the list of commands; the manual's overview has the same words
	summary string
	execute func(c *cli.Context, args []string) int
}
