package main

import (
	_ "embed"
	"io"
)

// schemaSource is the JSON schema of leakgate.json. A test holds it against the Go types, and real
// runs against it.
//
//go:embed schema/leakgate.schema.json
var schemaSource string

// printSchema is the command "leakgate schema".
func printSchema(c *context, args []string) int {
	if len(args) > 0 {
		return c.usageError("schema takes no arguments", "help schema")
	}
	if _, err := io.WriteString(c.stdout, schemaSource); err != nil {
		return c.failure("%v", err)
	}
	return exitPass
}
