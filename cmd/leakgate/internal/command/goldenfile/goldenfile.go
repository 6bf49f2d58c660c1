// Package goldenfile is the command that lists, checks, prunes, formats and tightens golden files.
package goldenfile

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/goldenset"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/golden"
)

// Options is the command line of leakgate golden.
type Options struct {
	Verb     string
	dir      string // -C
	yes      bool   // -y, of prune
	patterns []string
}

// A verb is one operation of leakgate golden. It gets the files, of which there is at least one,
// and returns the exit code.
type verb struct {
	name string
	run  func(g *command, files []goldenset.File) (int, error)
}

func verbs() []verb {
	return []verb{
		{"list", (*command).list},
		{"check", (*command).check},
		{"prune", (*command).prune},
		{"fmt", (*command).format},
		{"tighten", nil}, // has a command line of its own
	}
}

// VerbNames returns the words that may follow "leakgate golden".
func VerbNames() []string {
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return names
}

// FlagSet binds the flags to o.
func (o *Options) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("golden " + o.Verb)
	f.StringVar(&o.dir, "C", "", "")
	if o.Verb == "prune" {
		f.BoolVar(&o.yes, "y", false, "")
	}
	return f
}

// Parse reads the command line of all verbs but tighten.
func Parse(args []string) (*Options, error) {
	names := strings.Join(VerbNames(), ", ")
	if len(args) == 0 {
		return nil, errors.New("golden needs one of: " + names)
	}
	o := &Options{Verb: args[0]}
	switch {
	case o.Verb == "-h" || o.Verb == "-help" || o.Verb == "--help":
		return nil, flag.ErrHelp
	case !slices.Contains(VerbNames(), o.Verb):
		return nil, fmt.Errorf("golden %s: there is only %s", o.Verb, names)
	}
	var err error
	if o.patterns, err = cli.ParseMixed(o.FlagSet(), args[1:]); err != nil {
		return nil, err
	}
	if len(o.patterns) == 0 {
		o.patterns = []string{"."}
	}
	return o, nil
}

// A command is one call of leakgate golden.
type command struct {
	*cli.Context
	*Options
}

// Run is the command "leakgate golden".
func Run(c *cli.Context, args []string) int {
	if len(args) > 0 && args[0] == "tighten" {
		return tightenGoldens(c, args[1:])
	}
	o, err := Parse(args)
	if err != nil {
		return c.Unparsed(err, "golden")
	}
	g := &command{c, o}
	files, err := g.find()
	if err != nil {
		return c.Failure("%v", err)
	}
	if len(files) == 0 {
		return c.Failure("no golden files in %s: there is nothing to %s", strings.Join(o.patterns, " "), o.Verb)
	}
	for _, v := range verbs() {
		if v.name != o.Verb {
			continue
		}
		code, err := v.run(g, files)
		if err != nil {
			return c.Failure("%v", err)
		}
		return code
	}
	return cli.Usage // not reached: Parse knows the verbs
}

// find returns the golden files of the packages that the patterns name.
func (g *command) find() ([]goldenset.File, error) {
	folders, err := goldenset.Packages(goldenset.Config{Dir: g.dir, Env: g.Env}, g.patterns)
	if err != nil {
		return nil, err
	}
	var all []goldenset.File
	for _, folder := range folders {
		files, err := goldenset.Find(folder, func() bool { return linksLeakcheck(folder, g.Env) })
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// linksLeakcheck reports whether the test binary of the package in a folder links leakcheck. It
// returns true if the package does not load.
func linksLeakcheck(folder string, env []string) bool {
	found, matched, err := gotest.Packages(gotest.Query{Dir: folder, Env: env}, []string{"."})
	if err != nil || matched == 0 {
		return true
	}
	return slices.ContainsFunc(found, func(p gotest.Package) bool { return p.Leakcheck })
}

// list prints a table of the files.
func (g *command) list(files []goldenset.File) (int, error) {
	w := tabwriter.NewWriter(g.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FILE\tLINES\tOBJECTS\tBYTES\tBELONGS TO")
	for _, f := range files {
		lines, objects, bytes := "-", "-", "-"
		if file, err := golden.Read(f.Path); err == nil {
			lines = fmt.Sprint(len(file.Entries()))
			objects, bytes = allowed(file)
		}
		owner := f.Owner
		switch f.State {
		case goldenset.Orphaned:
			owner = "nobody: " + f.Why
		case goldenset.Unclear:
			owner += "? " + f.Why
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", cli.Shown(f.Path), lines, objects, bytes, owner)
	}
	return cli.Pass, w.Flush()
}

// allowed returns the most that a file allows in all, "*" where a line has no limit.
func allowed(file *golden.File) (objects, bytes string) {
	var all, size total
	for _, e := range file.Entries() {
		all.add(e.Objects)
		size.add(e.Bytes)
	}
	return all.String(), size.String()
}

// A total adds up the most that bounds allow.
type total struct {
	most      float64 // exact to 2^53; a sum of limits may leave int64
	unlimited bool
}

func (t *total) add(b golden.Bound) {
	most, limited := b.Max()
	t.most += float64(most)
	t.unlimited = t.unlimited || !limited
}

func (t *total) String() string {
	if t.unlimited {
		return "*"
	}
	return fmt.Sprintf("%.0f", t.most)
}

// check prints what is wrong with the files, one line each.
func (g *command) check(files []goldenset.File) (int, error) {
	problems := 0
	problem := func(format string, args ...any) {
		problems++
		fmt.Fprintf(g.Stdout, format+"\n", args...)
	}
	for _, f := range files {
		_, canonical, err := readGolden(f)
		switch {
		case err != nil:
			problem("%v", err)
		case !canonical:
			problem("%s: not in the form that updates write: leakgate golden fmt", cli.Shown(f.Path))
		}
		if f.State == goldenset.Orphaned {
			problem("%s: belongs to no test (%s): leakgate golden prune", cli.Shown(f.Path), f.Why)
		}
	}
	if problems > 0 {
		return cli.Findings, nil
	}
	fmt.Fprintf(g.Stdout, "%s fine\n", present.Plural(len(files), "golden file"))
	return cli.Pass, nil
}

// readGolden reads a golden file and says whether it has its canonical text.
func readGolden(f goldenset.File) (file *golden.File, canonical bool, err error) {
	if file, err = golden.Read(f.Path); err != nil {
		return nil, false, shortenGoldenError(err, f)
	}
	text, err := cli.ReadFile(f.Path)
	if err != nil {
		return nil, false, err
	}
	return file, strings.ReplaceAll(string(text), "\r\n", "\n") == string(file.Bytes()), nil
}

// shortenGoldenError replaces the file in an error by its name as the user knows it.
func shortenGoldenError(err error, f goldenset.File) error {
	if syntax, ok := errors.AsType[*golden.SyntaxError](err); ok {
		short := *syntax
		short.File = cli.Shown(f.Path)
		return &short
	}
	if version, ok := errors.AsType[*golden.VersionError](err); ok {
		short := *version
		short.File = cli.Shown(f.Path)
		return &short
	}
	return err
}

// format rewrites the files that do not have their canonical text.
func (g *command) format(files []goldenset.File) (int, error) {
	code := cli.Pass
	w := newWriter()
	defer w.close()
	for _, f := range files {
		file, canonical, err := readGolden(f)
		switch {
		case err != nil:
			fmt.Fprintf(g.Stderr, "leakgate: %v\n", err)
			code = cli.Findings
		case canonical:
		case g.InCI():
			fmt.Fprintf(g.Stdout, "not formatted: %s\n", cli.Shown(f.Path))
			code = cli.Findings
		default:
			if err := w.write(f.Path, file); err != nil {
				return 0, err
			}
			fmt.Fprintf(g.Stdout, "formatted %s\n", cli.Shown(f.Path))
		}
	}
	return code, nil
}

// prune removes the files that belong to no test, after it has listed them.
func (g *command) prune(files []goldenset.File) (int, error) {
	var orphans []goldenset.File
	for _, f := range files {
		switch f.State {
		case goldenset.Orphaned:
			orphans = append(orphans, f)
			fmt.Fprintf(g.Stdout, "%s: %s\n", cli.Shown(f.Path), f.Why)
		case goldenset.Unclear:
			fmt.Fprintf(g.Stdout, "%s: kept, since %s\n", cli.Shown(f.Path), f.Why)
		}
	}
	if len(orphans) == 0 {
		fmt.Fprintf(g.Stdout, "nothing to remove: %s, each with a test\n", present.Plural(len(files), "golden file"))
		return cli.Pass, nil
	}
	what := present.Plural(len(orphans), "golden file")
	switch {
	case g.InCI():
		fmt.Fprintf(g.Stdout, "%s to remove; CI is set, so nothing is removed here\n", what)
		return cli.Findings, nil
	case g.yes:
	case !term.IsTerminal(int(os.Stdin.Fd())):
		fmt.Fprintf(g.Stdout, "%s to remove; to do it: leakgate golden prune -y\n", what)
		return cli.Findings, nil
	case !g.confirmed("Remove " + what + "?"):
		fmt.Fprintln(g.Stdout, "nothing removed")
		return cli.Findings, nil
	}
	for _, f := range orphans {
		if err := f.Remove(); err != nil {
			return 0, err
		}
	}
	fmt.Fprintf(g.Stdout, "removed %s\n", what)
	return cli.Pass, nil
}

// confirmed asks a question on the terminal, and reports whether the answer is yes.
func (g *command) confirmed(question string) bool {
	fmt.Fprintf(g.Stdout, "%s [y/N] ", question)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		fmt.Fprintln(g.Stdout)
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}
