package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

// errUsage is a bad command line that was already reported.
var errUsage = errors.New("usage")

const usage = "usage: tables constructs|builds|module|performance [flags] [arguments]; see go doc ./internal/tests/tables"

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		fmt.Fprintln(stderr, usage)
		return errUsage
	}
	flags := flag.NewFlagSet("tables "+args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	checkout, err := os.Getwd()
	if err != nil {
		return err
	}
	var most int // arguments; -1: any number
	var command func() error
	switch args[0] {
	case "constructs":
		check := flags.Bool("check", false, "compare with the document instead of writing it")
		command = func() error { return auditConstructs(ctx, stdout, checkout, *check) }
	case "builds":
		most = -1
		check := flags.Bool("check", false, "compare with the document instead of writing it")
		command = func() error { return auditBuilds(ctx, stdout, checkout, flags.Args(), *check) }
	case "module":
		most = 2
		m := moduleRun{}
		flags.StringVar(&m.run, "run", "", "run only tests that match this `regexp`")
		flags.DurationVar(&m.every, "every", 3*time.Second, "time between scans")
		flags.DurationVar(&m.deadline, "timeout", 10*time.Minute, "how long the tests may take")
		command = func() error {
			if flags.NArg() != 2 {
				fmt.Fprintln(stderr, "usage: tables module [flags] MODULE@VERSION PACKAGE")
				return errUsage
			}
			m.module, m.folder = flags.Arg(0), flags.Arg(1)
			return auditModule(ctx, stdout, checkout, m)
		}
	case "performance":
		quick := flags.Bool("quick", false, "smaller heaps, fewer rounds")
		write := flags.Bool("write", false, "write the tables into the document, too")
		command = func() error { return measurePerformance(ctx, stdout, stderr, checkout, *quick, *write) }
	default:
		fmt.Fprintln(stderr, usage)
		return errUsage
	}
	if flags.Parse(args[1:]) != nil {
		return errUsage
	}
	if most >= 0 && flags.NArg() > most {
		fmt.Fprintf(stderr, "tables %s: it was given %q\n%s\n", args[0], flags.Args(), usage)
		return errUsage
	}
	if _, err := os.Stat(filepath.Join(checkout, accuracy.file())); err != nil {
		return fmt.Errorf("run this from the top folder of leakgate: %w", err)
	}
	return command()
}
