package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}

// errUsage is a bad command line; what is wrong was said.
var errUsage = errors.New("usage")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("performance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	quick := flags.Bool("quick", false, "smaller heaps, fewer rounds")
	write := flags.Bool("write", false, "write the tables into "+documentName+", too")
	if flags.Parse(args) != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "performance: it takes no arguments, and was given %q\n", flags.Args())
		return errUsage
	}
	if _, err := os.Stat(documentName); err != nil {
		return fmt.Errorf("run this from the top folder of leakgate: %w", err)
	}
	sizes := sizes{common: 1_000_000, yardstick: 4_600_000, rounds: "3x"}
	if *quick {
		sizes.common, sizes.yardstick, sizes.rounds = 50_000, 100_000, "1x"
	}
	m := measurement{ctx: ctx, progress: stderr, start: time.Now()}
	m.measure(sizes)
	if m.err != nil {
		return m.err
	}
	tables := strings.Join([]string{m.machine(), m.goals(), m.shapes()}, "\n")
	if _, err := io.WriteString(stdout, tables); err != nil {
		return err
	}
	if *write {
		return writeTables(tables)
	}
	return nil
}
