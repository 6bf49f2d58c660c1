package results

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
)

// MergeOptions is the command line of leakgate merge.
type MergeOptions struct {
	artifacts string // -o
	formats   present.Formats
	reports   []string
}

// FlagSet binds the flags to o.
func (o *MergeOptions) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("merge")
	f.StringVar(&o.artifacts, "o", artifacts.DefaultName, "")
	o.formats.Register(f)
	return f
}

// ParseMerge reads the command line.
func ParseMerge(args []string) (*MergeOptions, error) {
	o := new(MergeOptions)
	var err error
	if o.reports, err = cli.ParseMixed(o.FlagSet(), args); err != nil {
		return nil, err
	}
	if len(o.reports) == 0 {
		return nil, errors.New("merge needs the reports of all shards")
	}
	return o, o.formats.Check()
}

// Merge is the command "leakgate merge".
func Merge(c *cli.Context, args []string) int {
	o, err := ParseMerge(args)
	if err != nil {
		return c.Unparsed(err, "merge")
	}
	run, err := o.merge(c)
	if err != nil {
		return c.Plain().Failure("%v", err)
	}
	return run.ExitCode
}

// merge reads the shards, writes the merged artifacts directory and prints the summary.
func (o *MergeOptions) merge(c *cli.Context) (*outcome.Run, error) {
	var shards []*outcome.Run
	for _, path := range o.reports {
		if err := o.checkOutside(path); err != nil {
			return nil, err
		}
		run, err := outcome.Read(path)
		if err != nil {
			return nil, err
		}
		shards = append(shards, run)
	}
	merged, err := outcome.Merge(shards)
	if err != nil {
		return nil, err
	}
	dir, err := artifacts.Open(o.artifacts)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := o.fill(dir, shards, merged, c.Env); err != nil {
		return nil, errors.Join(err, dir.Discard())
	}
	d := present.OpenDisplay(c.Stdout, c.Env)
	summary := present.Summary{Artifacts: o.artifacts, Page: filepath.Join(o.artifacts, artifacts.PageName), Color: d.Color}
	text := func() error { return summary.Present(cli.NewPlain(d.Screen, d.Color), merged) }
	return merged, o.formats.Show(merged, "", c.Env, d.Screen, text)
}

// fill writes the merged artifacts directory. If it fails, part of it is there.
func (o *MergeOptions) fill(dir *artifacts.Dir, shards []*outcome.Run, merged *outcome.Run, env []string) error {
	for i, run := range shards {
		if err := adopt(dir, o.reports[i], run); err != nil {
			return err
		}
	}
	var json present.Presenter = present.JSON{}
	if err := dir.WriteReport(func(w io.Writer) error { return json.Present(w, merged) }); err != nil {
		return err
	}
	return page.WriteInto(dir, merged, "", env)
}

// checkOutside refuses a report in the directory that is about to be cleared.
func (o *MergeOptions) checkOutside(report string) error {
	out, err := filepath.Abs(o.artifacts)
	if err != nil {
		return err
	}
	folder, _ := outcome.Locate(report)
	in, err := filepath.Abs(string(folder))
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(out, in); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%s is in %s, which is written anew: name another directory with -o", report, o.artifacts)
	}
	return nil
}

// adopt copies the artifacts of a run, given its report. It removes those from run that were not
// kept with the report.
func adopt(dir *artifacts.Dir, report string, run *outcome.Run) error {
	from, _ := outcome.Locate(report)
	for _, p := range run.Packages {
		for _, a := range p.Assertions {
			found, err := dir.Adopt(from, a.Dir)
			if err != nil {
				return err
			}
			if !found {
				a.Artifacts = nil
			}
		}
	}
	return nil
}
