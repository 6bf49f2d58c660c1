// Package doctor is the command that says whether leakgate works on a machine, with its system,
// toolchain and cache: it builds a test with known leaks, and runs it in each of the ways in which
// snapshots are taken.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
)

// Options is the command line of leakgate doctor.
type Options struct {
	dir     string // -C
	json    bool
	timeout time.Duration
}

// Parse reads the command line.
func Parse(args []string) (*Options, error) {
	o := new(Options)
	f := cli.NewFlagSet("doctor")
	f.StringVar(&o.dir, "C", "", "")
	f.BoolVar(&o.json, "json", false, "")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "")
	rest, err := cli.ParseMixed(f, args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, fmt.Errorf("doctor takes no arguments, and %q is one", rest[0])
	case o.timeout <= 0:
		return nil, fmt.Errorf("-timeout %v: it is more than 0", o.timeout)
	}
	return o, nil
}

// A report is what doctor found.
type report struct {
	surroundings
	Trials []*Trial `json:"trials"`
	Works  bool     `json:"works"`
}

// Run is the command "leakgate doctor".
func Run(c *cli.Context, args []string) int {
	o, err := Parse(args)
	if err != nil {
		return c.Unparsed(err, "doctor")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := new(report)
	if r.surroundings, err = look(o.dir, c.Env); err != nil {
		return c.Failure("%v", err)
	}
	screen := present.OpenDisplay(c.Stdout, c.Env).Screen
	if o.json {
		screen = present.OpenDisplay(c.Stderr, c.Env).Screen
	} else {
		r.printSurroundings(screen)
		printHeader(screen)
	}
	beat := present.StartBeat(screen, c.Stderr, 10*time.Second, "preparing")
	began := func(w Way) { beat.At("trying " + string(w)) }
	err = tryWays(ctx, r.Go, c.Env, o.timeout, began, func(t *Trial) {
		r.Trials = append(r.Trials, t)
		if !o.json {
			printTrial(screen, t)
		}
	})
	beat.Stop()
	switch {
	case ctx.Err() != nil:
		c.Failure("interrupted")
		return cli.Unknown
	case err != nil:
		return c.Failure("%v", err)
	}
	code := r.judge()
	r.Works = code == cli.Pass
	if o.json {
		e := json.NewEncoder(c.Stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return c.Failure("%v", err)
		}
		return code
	}
	r.printConclusion(c.Stdout)
	return code
}

// judge returns the exit code. leakgate works if tests that are run with go test get the right
// verdicts. The other ways of taking snapshots need not be available, but a wrong verdict always
// counts.
func (r *report) judge() int {
	code := cli.Pass
	for _, t := range r.Trials {
		switch {
		case t.State == Wrong:
			return cli.Findings
		case t.Way == Plain && t.State != Right:
			code = cli.Unknown
		}
	}
	return code
}
