package main

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

// manualSource is the file with the package comment, which is the only text of the manual.
//
//go:embed doc.go
var manualSource string

// printHelp is the command "leakgate help".
func printHelp(c *cli.Context, args []string) int {
	if len(args) > 1 {
		return c.UsageError("help takes one topic", "help")
	}
	m, err := readManual(manualSource)
	if err != nil {
		return c.Failure("the manual: %v", err)
	}
	if len(args) == 0 {
		fmt.Fprint(c.Stdout, m.Overview())
		return cli.Pass
	}
	text, ok := m.Topic(args[0])
	if !ok {
		return c.UsageError(fmt.Sprintf("no help on %q; there is: %s", args[0], strings.Join(m.Topics(), ", ")), "help")
	}
	fmt.Fprint(c.Stdout, text)
	return cli.Pass
}

// printVersion is the command "leakgate version".
func printVersion(c *cli.Context, args []string) int {
	if len(args) > 0 {
		return c.UsageError("version takes no arguments", "help version")
	}
	fmt.Fprintln(c.Stdout, "leakgate "+cli.Version()+" "+runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH)
	return cli.Pass
}
