package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/manual"
)

// manualSource is the file with the package comment, which is the only text of the manual.
//
//go:embed doc.go
var manualSource string

// printHelp is the command "leakgate help".
func printHelp(c *context, args []string) int {
	if len(args) > 1 {
		return c.usageError("help takes one topic", "help")
	}
	m, err := manual.Parse(manualSource)
	if err != nil {
		return c.failure("the manual: %v", err)
	}
	if len(args) == 0 {
		fmt.Fprint(c.stdout, m.Overview())
		return exitPass
	}
	text, ok := m.Topic(args[0])
	if !ok {
		return c.usageError(fmt.Sprintf("no help on %q; there is: %s", args[0], strings.Join(m.Topics(), ", ")), "help")
	}
	fmt.Fprint(c.stdout, text)
	return exitPass
}
