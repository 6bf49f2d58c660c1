// Package devcommand runs developers' commands.
package devcommand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// ErrUsage is a bad command line that was already reported.
var ErrUsage = errors.New("usage")

// Main runs a command until it is interrupted, and ends the process.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, ErrUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}
