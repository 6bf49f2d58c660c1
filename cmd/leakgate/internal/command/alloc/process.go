package alloc

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocrun"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/refscan/foreign"
)

// processFlags are the flags of leakgate alloc -pid.
type processFlags struct {
	number  string // -pid
	pid     int    // 0: tests are run
	exe     string
	howLong time.Duration // -for
}

func (o *processFlags) register(f *flag.FlagSet) {
	f.StringVar(&o.number, "pid", "", "")
	f.StringVar(&o.exe, "exe", "", "")
	f.DurationVar(&o.howLong, "for", 30*time.Second, "")
}

// Flags that go only with -pid, and all that go with it.
var (
	ofProcess   = []string{"exe", "for"}
	withProcess = []string{"exe", "for", "json", "o", "pid", "top"}
)

// check checks the flags that are given, and what stands beside them.
func (o *processFlags) check(given *flag.FlagSet, rest []string) (err error) {
	given.Visit(func(f *flag.Flag) {
		switch {
		case o.number == "" && slices.Contains(ofProcess, f.Name):
			err = fmt.Errorf("-%s goes with -pid", f.Name)
		case o.number != "" && !slices.Contains(withProcess, f.Name):
			err = fmt.Errorf("-%s and -pid do not go together: it is about tests", f.Name)
		}
	})
	if err != nil || o.number == "" {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("-pid goes without %s; the flag -exe names the program's file where the process has it stripped", rest[0])
	}
	if o.pid, err = cli.ParsePID(o.number); err != nil {
		return err
	}
	if o.howLong <= 0 {
		return fmt.Errorf("-for %v: it is more than 0", o.howLong)
	}
	return nil
}

// follow counts what a process allocates, and prints that.
func (o *Options) follow(ctx context.Context, c *cli.Context) int {
	pid := o.process.pid
	p := &allocrun.Process{PID: pid, Exe: o.process.exe, For: o.process.howLong, Begun: func() {
		fmt.Fprintf(c.Stderr, "counting what process %d allocates, for %v\n", pid, o.process.howLong)
	}}
	r, err := p.Allocations(ctx)
	switch {
	case errors.Is(err, foreign.ErrEnded):
		c.Failure("could not tell: process %d has ended", pid)
		return cli.Unknown
	case err != nil && foreign.IsInput(err):
		return c.Failure("%v", err)
	case err != nil:
		c.Failure("could not tell: %v", err)
		return cli.Unknown
	}
	found := &report{Packages: []*allocrun.Result{r}}
	if o.output != "" {
		if err := o.writeProfile(found); err != nil {
			return c.Failure("%v", err)
		}
	}
	if o.json {
		err = writeJSON(c.Stdout, found)
	} else {
		err = o.printProcess(c.Stdout, r)
	}
	if err != nil {
		return c.Failure("%v", err)
	}
	return found.exitCode(c)
}

// printProcess writes the tables of a process.
func (o *Options) printProcess(w io.Writer, r *allocrun.Result) error {
	var b strings.Builder
	s := r.Sampling
	fmt.Fprintf(&b, "process %d of %s: %s, %s, allocated in %s\n", o.process.pid, r.Package,
		textfmt.CountNoun(r.Objects, "object"), textfmt.ByteCount(s.Bytes), s.Elapsed.Round(time.Millisecond))
	if s.Rate > 1 {
		fmt.Fprintf(&b, "estimated from %s, one in %s: in 19 of 20 cases the true number is within ±,\nand what has allocated %s has a row\n",
			textfmt.CountNoun(s.Samples, "sample"), textfmt.ByteCount(s.Rate), textfmt.ByteCount(missable*s.Rate))
	}
	o.printTypes(&b, r)
	o.printSites(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

// missable is how many times the rate small objects may take and have no sample, in one of 20
// cases: exp(-3).
const missable = 3
