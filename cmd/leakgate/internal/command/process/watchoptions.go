package process

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/internal/jump"
)

// WatchOptions is the command line of leakgate watch.
type WatchOptions struct {
	every     time.Duration
	most      int // -max
	noBase    bool
	output    string // -o
	number    string // -pid
	poll      time.Duration
	spike     string
	top       int
	threshold jump.Threshold
	process   process // with -pid, -exe and -nofork
}

// FlagSet binds the flags to o.
func (o *WatchOptions) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("watch")
	f.DurationVar(&o.every, "every", time.Minute, "")
	f.StringVar(&o.process.Exe, "exe", "", "")
	f.IntVar(&o.most, "max", 24, "")
	f.BoolVar(&o.noBase, "nobase", false, "")
	f.BoolVar(&o.process.NoFork, "nofork", false, "")
	f.StringVar(&o.output, "o", "", "")
	f.StringVar(&o.number, "pid", "", "")
	f.DurationVar(&o.poll, "poll", 10*time.Millisecond, "")
	f.StringVar(&o.spike, "spike", "20%,+64MiB", "")
	f.IntVar(&o.top, "top", 5, "")
	return f
}

const leastPoll = 100 * time.Microsecond

// ParseWatch reads the command line.
func ParseWatch(args []string) (*WatchOptions, error) {
	o := new(WatchOptions)
	rest, err := cli.ParseMixed(o.FlagSet(), args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, fmt.Errorf("watch takes no %s: -pid names the process", rest[0])
	case o.number == "":
		return nil, errors.New("watch needs a process: -pid number")
	case o.every < 0:
		return nil, fmt.Errorf("-every %v: a time between two spikes cannot be negative", o.every)
	case o.most < 1:
		return nil, fmt.Errorf("-max %d is no number of spikes, from 1 on", o.most)
	case o.poll < leastPoll:
		return nil, fmt.Errorf("-poll %v: at least %v", o.poll, leastPoll)
	case o.top < 0:
		return nil, fmt.Errorf("-top %d is no number of places", o.top)
	}
	if o.threshold, err = jump.Parse(o.spike); err != nil {
		return nil, fmt.Errorf("-spike %s: %w", o.spike, err)
	}
	if o.process.PID, err = parsePID(o.number); err != nil {
		return nil, err
	}
	return o, o.checkOutput()
}

// checkOutput checks that -o is a folder before there is something to write to it.
func (o *WatchOptions) checkOutput() error {
	if o.output == "" {
		return nil
	}
	info, err := os.Stat(o.output)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", o.output)
	}
	if err != nil {
		return fmt.Errorf("-o names a folder that is there: %w", err)
	}
	return nil
}
