package results

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
)

// DiffOptions is the command line of leakgate diff.
type DiffOptions struct {
	fail          bool
	top           cli.Top
	output        string // -o
	before, after string
}

// FlagSet binds the flags to o.
func (o *DiffOptions) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("diff")
	f.BoolVar(&o.fail, "fail", false, "")
	f.StringVar(&o.output, "o", "", "")
	o.top.Register(f)
	return f
}

// ParseDiff reads the command line.
func ParseDiff(args []string) (*DiffOptions, error) {
	o := new(DiffOptions)
	rest, err := cli.ParseMixed(o.FlagSet(), args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) != 2:
		return nil, fmt.Errorf("diff needs two reports or two profiles, the old and the new one, not %d", len(rest))
	}
	o.before, o.after = rest[0], rest[1]
	return o, nil
}

// Diff is the command "leakgate diff".
func Diff(c *cli.Context, args []string) int {
	o, err := ParseDiff(args)
	if err != nil {
		return c.Unparsed(err, "diff")
	}
	c = c.Plain()
	rows, err := o.diff(c.Stdout)
	if err != nil {
		return c.Failure("%v", err)
	}
	if o.fail && slices.ContainsFunc(rows, compare.Row.Grew) {
		return cli.Findings
	}
	return cli.Pass
}

// diff prints the comparison and writes -o.
func (o *DiffOptions) diff(w io.Writer) ([]compare.Row, error) {
	before, err := readComparand(o.before)
	if err != nil {
		return nil, err
	}
	after, err := readComparand(o.after)
	if err != nil {
		return nil, err
	}
	var rows []compare.Row
	var olds, news []*profile.Profile
	noun := "assertion"
	switch {
	case before.Run != nil && after.Run != nil:
		rows = compare.Runs(before.Run, after.Run)
		if o.output != "" {
			if olds, news, err = pairedProfiles(before, after); err != nil {
				return nil, err
			}
		}
	case before.Profile != nil && after.Profile != nil:
		if rows, err = compare.Profiles(before.Profile, after.Profile); err != nil {
			return nil, err
		}
		olds, news = []*profile.Profile{before.Profile}, []*profile.Profile{after.Profile}
		noun = "path"
	default:
		return nil, fmt.Errorf("%s and %s are a report and a profile: compare two of a kind", o.before, o.after)
	}
	if o.output != "" {
		if err := writeDifference(o.output, olds, news); err != nil {
			return nil, err
		}
	}
	return rows, present.Comparison(w, rows, int(o.top), noun)
}

// pairedProfiles reads the profiles of the assertions that have one in both runs.
func pairedProfiles(before, after *comparand) (olds, news []*profile.Profile, err error) {
	order, newAt := compare.Sites(after.Run)
	_, oldAt := compare.Sites(before.Run)
	for _, s := range order {
		o, n := retainedArtifact(oldAt[s]), retainedArtifact(newAt[s])
		if o == "" || n == "" {
			continue
		}
		for _, side := range []struct {
			c    *comparand
			name string
			to   *[]*profile.Profile
		}{{before, o, &olds}, {after, n, &news}} {
			p, err := side.c.Dir.Profile(side.name)
			if err != nil {
				return nil, nil, err
			}
			*side.to = append(*side.to, p)
		}
	}
	if len(olds) == 0 {
		return nil, nil, errors.New("-o: no assertion has a profile in both runs: make the two with leakgate run -artifacts=all, and keep their folders")
	}
	return olds, news, nil
}

// retainedArtifact returns the profile of the first of several assertions at one place; "" if it
// has none.
func retainedArtifact(as []*outcome.Assertion) string {
	if len(as) == 0 {
		return ""
	}
	return as[0].Artifacts["retained"]
}

func writeDifference(path string, olds, news []*profile.Profile) error {
	diff, err := compare.Difference(olds, news)
	if err != nil {
		return fmt.Errorf("-o: the profiles do not go together: %w", err)
	}
	var b bytes.Buffer
	if err := diff.Write(&b); err != nil {
		return err
	}
	return cli.WriteData(path, b.Bytes())
}
