// Package vet is the command that finds mistakes in tests that use leakcheck.
package vet

import (
	"flag"
	"fmt"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"
	"golang.org/x/tools/go/packages"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/leakvet"
)

// Options is the command line of leakgate vet.
type Options struct {
	dir      string // -C
	fix      bool
	tags     string
	patterns []string
}

// FlagSet binds the flags to o.
func (o *Options) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("vet")
	f.StringVar(&o.dir, "C", "", "")
	f.BoolVar(&o.fix, "fix", false, "")
	f.StringVar(&o.tags, "tags", "", "")
	return f
}

// Parse reads the command line.
func Parse(args []string) (*Options, error) {
	o := new(Options)
	var err error
	if o.patterns, err = cli.ParseMixed(o.FlagSet(), args); err != nil {
		return nil, err
	}
	if len(o.patterns) == 0 {
		o.patterns = []string{"."}
	}
	return o, nil
}

// IsTool reports whether the go command calls this program as its vet tool: "go vet -vettool" asks
// for the version and the flags, then names a file for each package (go1.26 cmd/go/internal/vet).
func IsTool(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return args[0] == "-V=full" || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg")
}

// Tool runs the program as a vet tool. It does not return.
func Tool() { unitchecker.Main(leakvet.Analyzer) }

// Run is the command "leakgate vet".
func Run(c *cli.Context, args []string) int {
	o, err := Parse(args)
	if err != nil {
		return c.Unparsed(err, "vet")
	}
	found, err := o.check(c)
	if err == nil && o.fix {
		if err = leakvet.Fix(found); err == nil {
			found, err = o.check(c)
		}
	}
	if err != nil {
		return c.Failure("%v", err)
	}
	for _, f := range found {
		fmt.Fprintf(c.Stdout, "%s: %s\n", cli.Shown(f.Position.String()), f.Message)
	}
	if len(found) > 0 {
		return cli.Findings
	}
	return cli.Pass
}

func (o *Options) check(c *cli.Context) ([]leakvet.Finding, error) {
	if _, err := gotest.ReadModuleEnv(o.dir, c.Env); err != nil {
		return nil, err
	}
	inv := &gotest.Invocation{Tags: o.tags}
	env, buildFlags := gotest.ForLoad(o.dir, c.Env, inv.BuildFlags())
	found, err := leakvet.Check(packages.Config{Dir: o.dir, Env: env, BuildFlags: buildFlags}, o.patterns)
	if err != nil {
		return nil, fmt.Errorf("cannot load packages:\n%w", err)
	}
	return found, nil
}
