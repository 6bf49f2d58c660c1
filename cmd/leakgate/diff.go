package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// diffOptions is the command line of leakgate diff.
type diffOptions struct {
	fail          bool
	count         int    // -n
	output        string // -o
	before, after string
}

func (o *diffOptions) flagSet() *flag.FlagSet {
	f := newFlagSet("diff")
	f.BoolVar(&o.fail, "fail", false, "")
	f.IntVar(&o.count, "n", 40, "")
	f.StringVar(&o.output, "o", "", "")
	return f
}

func parseDiff(args []string) (*diffOptions, error) {
	o := new(diffOptions)
	rest, err := parseMixed(o.flagSet(), args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) != 2:
		return nil, fmt.Errorf("diff needs two reports or two profiles, the old and the new one, not %d", len(rest))
	case o.count < 0:
		return nil, fmt.Errorf("-n %d is no number of rows", o.count)
	}
	o.before, o.after = rest[0], rest[1]
	return o, nil
}

// diffRuns is the command "leakgate diff".
func diffRuns(c *context, args []string) int {
	o, err := parseDiff(args)
	if err != nil {
		return c.unparsed(err, "diff")
	}
	rows, err := o.diff(c.stdout)
	if err != nil {
		return c.failure("%v", err)
	}
	if o.fail && slices.ContainsFunc(rows, compare.Row.Grew) {
		return exitFindings
	}
	return exitPass
}

// diff prints the comparison and writes -o.
func (o *diffOptions) diff(w io.Writer) ([]compare.Row, error) {
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
	case before.run != nil && after.run != nil:
		rows = compare.Runs(before.run, after.run)
		if o.output != "" {
			if olds, news, err = pairedProfiles(before, after); err != nil {
				return nil, err
			}
		}
	case before.profile != nil && after.profile != nil:
		if rows, err = compare.Profiles(before.profile, after.profile); err != nil {
			return nil, err
		}
		olds, news = []*profile.Profile{before.profile}, []*profile.Profile{after.profile}
		noun = "path"
	default:
		return nil, fmt.Errorf("%s and %s are a report and a profile: compare two of a kind", o.before, o.after)
	}
	if o.output != "" {
		if err := writeDifference(o.output, olds, news); err != nil {
			return nil, err
		}
	}
	return rows, present.Comparison(w, rows, o.count, noun)
}

// comparand is a run's report with the folder that its artifacts are relative to, or a profile.
type comparand struct {
	run     *outcome.Run
	dir     string
	profile *profile.Profile
}

func readComparand(path string) (*comparand, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		run, err := outcome.Read(path)
		return &comparand{run: run, dir: path}, err
	}
	data, err := readFileBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: give a leakgate.json, the folder with it, or a profile, which runs keep of assertions that passed only with -artifacts all", path)
	}
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		run, err := outcome.Read(path)
		return &comparand{run: run, dir: filepath.Dir(path)}, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s is neither a report of leakgate run nor a profile: %w", path, err)
	}
	return &comparand{profile: p}, nil
}

func readFileBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readBounded(f, path)
}

// pairedProfiles reads the profiles of the assertions that have one in both runs.
func pairedProfiles(before, after *comparand) (olds, news []*profile.Profile, err error) {
	order, newAt := compare.Sites(after.run)
	_, oldAt := compare.Sites(before.run)
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
			p, err := readProfileFile(filepath.Join(side.c.dir, filepath.FromSlash(side.name)))
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

// retainedArtifact returns the profile of the first of several assertions at one place, "" if it
// has none.
func retainedArtifact(as []*outcome.Assertion) string {
	if len(as) == 0 {
		return ""
	}
	return as[0].Artifacts["retained"]
}

func readProfileFile(path string) (*profile.Profile, error) {
	data, err := readFileBounded(path)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s is no profile: %w", path, err)
	}
	return p, nil
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
	return wholefile.WriteData(path, 0o666, b.Bytes())
}
