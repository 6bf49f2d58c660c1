package cli

import (
	"flag"
	"io"
)

// NewFlagSet makes the flag set of a command.
func NewFlagSet(command string) *flag.FlagSet {
	f := flag.NewFlagSet(command, flag.ContinueOnError)
	f.SetOutput(io.Discard) // the caller prints errors, the manual has the usage
	return f
}

// ParseMixed parses flags that may stand before and after the other arguments, which it returns.
func ParseMixed(f *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		if args = f.Args(); len(args) == 0 {
			return rest, nil
		}
		rest = append(rest, args[0])
		args = args[1:]
	}
}
