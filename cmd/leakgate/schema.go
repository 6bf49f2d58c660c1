package main

import (
	_ "embed"
	"io"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

// schemaSource is the JSON schema of leakgate.json. A test compares it with the Go types, and
// checks real runs against it.
//
//go:embed schema/leakgate.schema.json
var schemaSource string

// printSchema is the command "leakgate schema".
func printSchema(c *cli.Context, args []string) int {
	if len(args) > 0 {
		return c.UsageError("schema takes no arguments", "help schema")
	}
	if _, err := io.WriteString(c.Stdout, schemaSource); err != nil {
		return c.Failure("%v", err)
	}
	return cli.Pass
}
