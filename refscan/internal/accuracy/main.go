package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/leakgate/leakgate/internal/devcommand"
)

func main() { devcommand.Main("accuracy", run) }

const usage = "usage: accuracy constructs|builds|module [flags] [arguments]; see go doc ./refscan/internal/accuracy"

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		fmt.Fprintln(stderr, usage)
		return devcommand.ErrUsage
	}
	flags := flag.NewFlagSet("accuracy "+args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	checkout, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(checkout, documentName)); err != nil {
		return fmt.Errorf("run this from the top folder of leakgate: %w", err)
	}
	switch args[0] {
	case "constructs":
		check := flags.Bool("check", false, "compare with the document instead of writing it")
		if flags.Parse(args[1:]) != nil || flags.NArg() > 0 {
			return devcommand.ErrUsage
		}
		return auditConstructs(ctx, stdout, checkout, *check)
	case "builds":
		check := flags.Bool("check", false, "compare with the document instead of writing it")
		if flags.Parse(args[1:]) != nil {
			return devcommand.ErrUsage
		}
		return auditBuilds(ctx, stdout, checkout, flags.Args(), *check)
	case "module":
		m := moduleRun{}
		flags.StringVar(&m.run, "run", "", "run only tests that match this `regexp`")
		flags.DurationVar(&m.every, "every", 3*time.Second, "time between scans")
		flags.DurationVar(&m.deadline, "timeout", 10*time.Minute, "how long the tests may take")
		if flags.Parse(args[1:]) != nil {
			return devcommand.ErrUsage
		}
		if flags.NArg() != 2 {
			fmt.Fprintln(stderr, "usage: accuracy module [flags] MODULE@VERSION PACKAGE")
			return devcommand.ErrUsage
		}
		m.module, m.folder = flags.Arg(0), flags.Arg(1)
		return auditModule(ctx, stdout, checkout, m)
	}
	fmt.Fprintln(stderr, usage)
	return devcommand.ErrUsage
}
