package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/devcommand"
)

func main() { devcommand.Main("performance", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("performance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	quick := flags.Bool("quick", false, "smaller heaps, fewer rounds")
	write := flags.Bool("write", false, "write the tables into "+documentName+", too")
	if flags.Parse(args) != nil {
		return devcommand.ErrUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "performance: it takes no arguments, and was given %q\n", flags.Args())
		return devcommand.ErrUsage
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
