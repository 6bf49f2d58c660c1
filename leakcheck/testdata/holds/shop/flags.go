package shop

import (
	"flag"
	"fmt"
)

// NewFlags makes a set of 200 flags.
func NewFlags() *flag.FlagSet {
	fs := flag.NewFlagSet("shop", flag.ContinueOnError)
	for i := range 200 {
		fs.Int(fmt.Sprint("flag", i), i, "")
	}
	return fs
}

// A Command uses flags.
type Command struct {
	Name  string
	Flags *flag.FlagSet
}

var (
	Flags    *flag.FlagSet
	Commands map[string]*Command
	FlagSets map[string]*flag.FlagSet
)

func resetFlags() { Flags, Commands, FlagSets = nil, map[string]*Command{}, map[string]*flag.FlagSet{} }
