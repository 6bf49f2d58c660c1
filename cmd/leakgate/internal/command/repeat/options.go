package repeat

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
)

// Options is the command line of leakgate repeat.
type Options struct {
	number    string // -pid
	pid       int
	start     string
	ready     string
	url       string
	exe       string
	calls     int
	base      string
	artifacts string // -o
	timeout   time.Duration
	formats   present.Formats

	command []string
}

// FlagSet binds the flags to o.
func (o *Options) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("repeat")
	f.StringVar(&o.base, "base", "", "")
	f.IntVar(&o.calls, "calls", 1, "")
	f.StringVar(&o.exe, "exe", "", "")
	f.StringVar(&o.artifacts, "o", artifacts.DefaultName, "")
	f.StringVar(&o.number, "pid", "", "")
	f.StringVar(&o.ready, "ready", "", "")
	f.StringVar(&o.start, "start", "", "")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "")
	f.StringVar(&o.url, "url", "", "")
	o.formats.Register(f)
	return f
}

// Parse reads the command line.
func Parse(args []string) (*Options, error) {
	o := new(Options)
	f := o.FlagSet()
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.command = f.Args()
	given := 0
	for _, process := range []string{o.number, o.start, o.url} {
		if process != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, errors.New("repeat needs one process to look into: -pid number, -start command, or -url address")
	case o.exe != "" && o.url != "":
		return nil, errors.New("-exe goes with -pid and -start: what answers at -url reads its own debug information")
	case o.ready != "" && o.start == "":
		return nil, errors.New("-ready goes with -start: it says when what was started can be called")
	case o.calls < 1:
		return nil, fmt.Errorf("-calls %d: the command makes at least one", o.calls)
	case o.timeout <= 0:
		return nil, fmt.Errorf("-timeout %v: it must be more than 0", o.timeout)
	case len(o.command) == 0:
		return nil, errors.New("repeat needs a command to repeat, after --: leakgate repeat -pid 1234 -- curl -s localhost:8080/login")
	}
	if err := o.formats.Check(); err != nil {
		return nil, err
	}
	var err error
	if o.number != "" {
		o.pid, err = cli.ParsePID(o.number)
	}
	return o, err
}
