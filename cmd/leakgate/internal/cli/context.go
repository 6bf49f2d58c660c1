// Package cli is what the sub-commands of leakgate share: where they write, how they end, and how
// they read their command lines.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Exit codes that commands decide themselves; those of a run are in package outcome.
const (
	Pass     = 0
	Findings = 1 // a command found something to do
	Usage    = 2
	Unknown  = 3 // a command cannot answer the question
)

// Context is what surrounds a command: its output, its environment and the manual.
type Context struct {
	Stdout, Stderr io.Writer
	Env            []string
	Help           func(c *Context, topic string) int // prints a topic of the manual
}

// UsageError prints what is wrong with the command line, and which command explains more. It
// returns Usage.
func (c *Context) UsageError(text, help string) int {
	return c.Failure("%s (see \"leakgate %s\")", text, help)
}

// Failure prints why a command cannot do its work, and returns Usage.
func (c *Context) Failure(format string, args ...any) int {
	fmt.Fprintf(c.Stderr, "leakgate: "+format+"\n", args...)
	return Usage
}

// Unparsed ends a command whose command line did not parse: with its help if that was asked for.
func (c *Context) Unparsed(err error, topic string) int {
	if errors.Is(err, flag.ErrHelp) {
		return c.Help(c, topic)
	}
	return c.UsageError(err.Error(), "help "+topic)
}

// InCI reports whether CI is set in the environment, as leakcheck reads it: nothing is written
// then.
func (c *Context) InCI() bool {
	switch strings.ToLower(Lookup(c.Env, "CI")) {
	case "", "0", "f", "false":
		return false
	}
	return true
}

// Lookup returns the value of a variable; the last of several is the one that counts.
func Lookup(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}
