package process

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/foreign"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// ScanOptions is the command line of leakgate scan.
type ScanOptions struct {
	base   string
	core   string
	fail   bool
	json   string
	output string // -o
	number string // -pid
	top    cli.Top
	exe    string // of a core file
	// for -pid, -audit, -exe and -nofork
	process process
	watch   watchOptions
}

// FlagSet binds the flags to o.
func (o *ScanOptions) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("scan")
	f.BoolVar(&o.process.Audit, "audit", false, "")
	f.StringVar(&o.base, "base", "", "")
	f.StringVar(&o.core, "core", "", "")
	f.StringVar(&o.process.Exe, "exe", "", "")
	f.BoolVar(&o.fail, "fail", false, "")
	f.StringVar(&o.json, "json", "", "")
	f.BoolVar(&o.process.NoFork, "nofork", false, "")
	f.StringVar(&o.output, "o", "", "")
	f.StringVar(&o.number, "pid", "", "")
	o.top.Register(f)
	o.watch.register(f)
	return f
}

// ParseScan reads the command line.
func ParseScan(args []string) (*ScanOptions, error) {
	o := new(ScanOptions)
	f := o.FlagSet()
	rest, err := cli.ParseMixed(f, args)
	if err != nil {
		return nil, err
	}
	f.Visit(func(given *flag.Flag) {
		switch {
		case !o.watch.on && slices.Contains(ofWatch, given.Name):
			err = fmt.Errorf("-%s goes with -watch", given.Name)
		case o.watch.on && slices.Contains(ofOne, given.Name):
			err = fmt.Errorf("-%s and -watch do not go together", given.Name)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case (o.core == "") == (o.number == ""):
		return nil, errors.New("scan needs something to look into: -pid number, or -core file")
	case o.number != "" && len(rest) > 0:
		return nil, fmt.Errorf("-pid goes without %s; the flag -exe names the program's file where the process has it stripped", rest[0])
	case o.core != "" && (o.process.Exe != "" || o.process.NoFork || o.process.Audit):
		return nil, errors.New("-audit, -exe and -nofork go with -pid")
	case o.core != "" && len(rest) != 1:
		return nil, fmt.Errorf("a core file goes with the file of its program, one, not %d", len(rest))
	case o.fail && o.base == "":
		return nil, errors.New("-fail goes with -base: it is about growth")
	}
	if o.core != "" {
		o.exe = rest[0]
		return o, nil
	}
	if o.process.PID, err = cli.ParsePID(o.number); err != nil || !o.watch.on {
		return o, err
	}
	return o, o.watch.check(o.output)
}

// Scan is the command "leakgate scan".
func Scan(c *cli.Context, args []string) int {
	o, err := ParseScan(args)
	if err != nil {
		return c.Unparsed(err, "scan")
	}
	var earlier *scanreport.Scan
	if o.base != "" {
		if earlier, err = scanreport.Read(o.base); err != nil {
			return c.Failure("-base: %v", err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends this process at once
	if o.watch.on {
		return o.follow(ctx, c)
	}
	if o.process.Audit {
		fmt.Fprintf(c.Stderr, "waiting for the next garbage collection of %s, up to two minutes and a half\n", o.process.Name())
	}
	scan, err := o.scan(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return failed(c, err)
	}
	return o.show(c, scan, earlier)
}

// failed prints why there is no scan, and returns the exit code.
func failed(c *cli.Context, err error) int {
	if foreign.IsInput(err) {
		return c.Failure("%v", err)
	}
	c.Failure("could not tell: %v", err)
	return cli.Unknown
}

// scan scans the process or the core file, and writes the profile.
func (o *ScanOptions) scan(ctx context.Context) (scan *scanreport.Scan, err error) {
	if o.core == "" {
		scan, err = o.process.Scan(ctx, nil)
	} else {
		scan, err = o.scanCore(ctx)
	}
	if err != nil || o.output == "" {
		return scan, err
	}
	var b bytes.Buffer
	if err := scan.Report.WriteProfile(&b); err != nil {
		return nil, err
	}
	return scan, cli.WriteData(o.output, b.Bytes())
}

func (o *ScanOptions) scanCore(ctx context.Context) (*scanreport.Scan, error) {
	scan := &scanreport.Scan{Program: filepath.ToSlash(o.exe)}
	snapshot, err := o.openCore(ctx, scan)
	if err != nil {
		return nil, err
	}
	scan.Report, err = snapshot.Scan(refscan.WithRetained())
	return scan, errors.Join(err, snapshot.Close())
}

func (o *ScanOptions) openCore(ctx context.Context, scan *scanreport.Scan) (*refscan.Snapshot, error) {
	info, err := os.Stat(o.core)
	if err != nil {
		return nil, err
	}
	scan.Source, scan.Taken = "core file "+filepath.Base(o.core), info.ModTime().Round(time.Millisecond)
	return foreign.OpenCore(ctx, o.core, o.exe)
}

// show prints the report, and writes -json.
func (o *ScanOptions) show(c *cli.Context, scan, earlier *scanreport.Scan) int {
	if o.json != "" {
		if err := cli.WriteFile(o.json, scan.Encode); err != nil {
			return c.Failure("-json: %v", err)
		}
	}
	if err := scan.WriteText(c.Stdout, int(o.top)); err != nil {
		return c.Failure("%v", err)
	}
	if why := scan.Unsound(); why != "" {
		c.Failure("could not tell: %s", why)
		return cli.Unknown
	}
	if earlier == nil {
		return cli.Pass
	}
	growth, err := scan.Since(earlier)
	if err != nil {
		return c.Failure("-base: %v", err)
	}
	fmt.Fprintln(c.Stdout)
	if err := growth.WriteText(c.Stdout, int(o.top)); err != nil {
		return c.Failure("%v", err)
	}
	if o.fail && len(growth.Leaks) > 0 {
		return cli.Findings
	}
	return cli.Pass
}
