package goldenfile

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/goldenset"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/golden"
)

// tightenOptions is the command line of leakgate golden tighten.
type tightenOptions struct {
	dir    string // -C
	report string // of a run: a file, or the folder that it lies in
}

// FlagSet binds the flags to o.
func (o *tightenOptions) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("golden tighten")
	f.StringVar(&o.dir, "C", "", "")
	return f
}

// ParseTighten reads the command line.
func ParseTighten(args []string) (*tightenOptions, error) {
	o := new(tightenOptions)
	rest, err := cli.ParseMixed(o.FlagSet(), args)
	if err != nil {
		return nil, err
	}
	switch len(rest) {
	case 0:
		o.report = filepath.Join(o.dir, artifacts.DefaultName)
	case 1:
		if o.report = rest[0]; strings.Contains(o.report, "...") {
			return nil, fmt.Errorf("%s: it takes the report of a run, not packages: run leakgate run %[1]s, then leakgate golden tighten", o.report)
		}
	default:
		return nil, fmt.Errorf("one report at a time, not %s too", rest[1])
	}
	return o, nil
}

// tightenGoldens is the command "leakgate golden tighten".
func tightenGoldens(c *cli.Context, args []string) int {
	o, err := ParseTighten(args)
	if err != nil {
		return c.Unparsed(err, "golden")
	}
	code, err := o.tighten(c)
	if err != nil {
		return c.Failure("%v", err)
	}
	return code
}

// tighten lowers the bounds in the golden files that the run compared with.
func (o *tightenOptions) tighten(c *cli.Context) (int, error) {
	run, err := outcome.Read(o.report)
	if err != nil {
		return 0, err
	}
	if run.Base != nil {
		return 0, fmt.Errorf("%s: that run was held against %s, not against golden files: run it without -base", cli.Shown(o.report), run.Base.Name)
	}
	compared := goldenset.Compared(run)
	if len(compared) == 0 {
		return 0, fmt.Errorf("%s: no assertion of that run compared with a golden file", cli.Shown(o.report))
	}
	code, tightened := cli.Pass, 0
	w := newWriter()
	defer w.close()
	for _, pkg := range compared {
		folder, err := packageFolder(o.dir, c.Env, pkg.ImportPath)
		if err != nil {
			return 0, err
		}
		for _, f := range pkg.Files {
			if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
				return 0, fmt.Errorf("%s names the golden file %q, which is outside of its package %s: it is no report of a run here", cli.Shown(o.report), f.Name, pkg.ImportPath)
			}
			path := filepath.Join(folder, filepath.FromSlash(f.Name))
			if f.Kept != "" {
				fmt.Fprintf(c.Stdout, "%s: kept, since %s\n", cli.Shown(path), f.Kept)
				continue
			}
			changes, err := w.tighten(path, f, !c.InCI())
			if err != nil {
				return 0, err
			}
			if len(changes) == 0 {
				continue
			}
			tightened++
			fmt.Fprintln(c.Stdout, cli.Shown(path))
			for _, change := range changes {
				fmt.Fprintf(c.Stdout, "    %s\n", change)
			}
		}
	}
	switch {
	case tightened == 0:
		fmt.Fprintln(c.Stdout, "nothing to tighten")
	case c.InCI():
		fmt.Fprintf(c.Stdout, "%s to tighten; CI is set, so nothing is written here\n", present.Plural(tightened, "golden file"))
		code = cli.Findings
	default:
		fmt.Fprintf(c.Stdout, "tightened %s\n", present.Plural(tightened, "golden file"))
	}
	return code, nil
}

// tighten lowers the bounds of one golden file to what the run's assertions saw, and writes it
// if write says so.
func (w *writer) tighten(path string, f goldenset.ComparedFile, write bool) ([]golden.Change, error) {
	file, err := golden.Read(path)
	if err != nil {
		return nil, shortenGoldenError(err, goldenset.File{Path: path})
	}
	seen := make([]*golden.File, 0, len(f.Tighter))
	for _, text := range f.Tighter {
		if text == "" { // the file fits as it is
			return nil, nil
		}
		s, err := golden.Parse(path, []byte(text))
		if err != nil {
			return nil, fmt.Errorf("the run's record of %w", err)
		}
		seen = append(seen, s)
	}
	tight, changes := file.Tighten(seen...)
	if len(changes) == 0 || !write {
		return changes, nil
	}
	return changes, w.write(path, tight)
}

// packageFolder asks the go command where a package lies.
func packageFolder(dir string, env []string, importPath string) (string, error) {
	cmd := exec.Command("go", "list", "-find", "-f", "{{.Dir}}", "--", importPath)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("the run's package %s is not here: %s", importPath, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	folder := strings.TrimSpace(string(out))
	if _, err := os.Stat(folder); err != nil {
		return "", err
	}
	return folder, nil
}
