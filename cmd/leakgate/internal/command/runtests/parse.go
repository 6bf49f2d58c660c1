package runtests

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// Parse reads the command line of leakgate run. The error is flag.ErrHelp if help was asked for.
func Parse(args []string) (*Options, error) {
	var o Options
	args, rest := args, []string(nil)
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i+1:]
	}
	var err error
	if o.patterns, err = cli.ParseMixed(o.FlagSet(), args); err != nil {
		if strings.HasPrefix(err.Error(), "flag provided but not defined") {
			err = fmt.Errorf("%w; flags of go test come after --, as in: leakgate run ./... -- -shuffle=on", err)
		}
		return nil, err
	}
	if o.passthrough, err = gotest.ParsePassthrough(rest); err != nil {
		return nil, err
	}
	return &o, o.check()
}

func (o *Options) check() error {
	if o.count < 1 {
		return fmt.Errorf("-count %d: it must be 1 or more", o.count)
	}
	if _, err := time.ParseDuration(o.timeout); o.timeout != "" && err != nil {
		return fmt.Errorf("-timeout %s: it is a duration, such as 90s or 10m", o.timeout)
	}
	// go test compiles the parts between slashes. If all are right, so is the whole.
	if _, err := regexp.Compile(o.run); err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	if o.shard.Shard != nil && o.namesFiles() {
		return errors.New("-shard spreads packages: it does not go with Go files")
	}
	if err := o.checkAuto(); err != nil {
		return err
	}
	if err := o.checkBase(); err != nil {
		return err
	}
	if o.native && o.isolate {
		return errors.New("-native and -isolate do not go together: each has a way of its own to start test binaries")
	}
	if o.runs < 1 {
		return fmt.Errorf("-runs %d: it must be 1 or more", o.runs)
	}
	if o.runs > 1 && o.json {
		return errors.New("-runs and -json: there would be several streams of events")
	}
	if err := o.keep.check(); err != nil {
		return err
	}
	if err := o.formats.Check(); err != nil {
		return err
	}
	if len(o.patterns) == 0 {
		o.patterns = []string{"."}
	}
	return nil
}

// checkAuto refuses what does not go with -auto.
func (o *Options) checkAuto() error {
	if !o.auto.on {
		return nil
	}
	for _, f := range []struct {
		name  string
		given bool
		why   string
	}{
		{"-update", o.update, "it compares with no golden file"},
		{"-runs", o.runs > 1, "it compares with no golden file"},
		{"-count", o.count != 1, "it decides itself how often tests are called"},
		{"-timeout", o.timeout != "", "give the time for a package with -auto-time"},
		{"-isolate", o.isolate, "it repeats tests in processes of its own"},
		{"-native", o.native, "it is for tests that assert that nothing grows"},
		{"Go files", o.namesFiles(), "it takes packages"},
	} {
		if f.given {
			return fmt.Errorf("-auto and %s do not go together: %s", f.name, f.why)
		}
	}
	if o.auto.time < minAutoTime {
		return fmt.Errorf("-auto-time %s: a package needs %s at least", o.auto.time, minAutoTime)
	}
	return nil
}

// minAutoTime is the least that a package may have: a few processes and snapshots.
const minAutoTime = 5 * time.Second

// checkBase refuses what does not go with -base.
func (o *Options) checkBase() error {
	switch {
	case o.base == "":
		return nil
	case o.update:
		return errors.New("-base and -update: golden files are not looked at when a revision is the measure")
	case o.runs > 1:
		return errors.New("-base and -runs: golden files are not looked at when a revision is the measure")
	case o.namesFiles():
		return errors.New("-base compares packages: it does not go with Go files")
	}
	return nil
}
