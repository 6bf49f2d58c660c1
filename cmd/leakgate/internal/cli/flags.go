package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// NewFlagSet makes the flag set of a command.
func NewFlagSet(command string) *flag.FlagSet {
	f := flag.NewFlagSet(command, flag.ContinueOnError)
	f.SetOutput(io.Discard) // the caller prints errors, the manual has the usage
	return f
}

// naming are the flags that name a file, a folder, a revision or a process.
var naming = []string{"base", "collapsed", "core", "exe", "html", "jit", "json", "junit", "maps", "markdown", "o", "perf-map", "pid", "sarif"}

// ParseMixed parses flags that may stand before and after the other arguments, which it returns. A
// flag that names something and is empty is an error: it comes of a variable that is not set, and
// what was asked for would be left out without a word.
func ParseMixed(f *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		if args = f.Args(); len(args) == 0 {
			var err error
			f.Visit(func(given *flag.Flag) {
				if given.Value.String() == "" && slices.Contains(naming, given.Name) {
					err = fmt.Errorf("-%s is empty: say what it names, or leave it out", given.Name)
				}
			})
			return rest, err
		}
		rest = append(rest, args[0])
		args = args[1:]
	}
}

// ParsePID reads the value of -pid.
func ParsePID(s string) (int, error) {
	pid, err := strconv.Atoi(s)
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("-pid %s is no process's number", s)
	}
	return pid, nil
}

// Top is the value of the flag -top: how many rows a command prints, math.MaxInt for all of them.
type Top int

// Register defines -top.
func (t *Top) Register(f *flag.FlagSet) {
	*t = 20
	f.Var(t, "top", "")
}

func (t *Top) String() string {
	if *t == math.MaxInt {
		return "0"
	}
	return strconv.Itoa(int(*t))
}

// Set implements flag.Value.
func (t *Top) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("it is how many rows to print, or 0 for all")
	}
	if *t = Top(n); n == 0 {
		*t = math.MaxInt
	}
	return nil
}
