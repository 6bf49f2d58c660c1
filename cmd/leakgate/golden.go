package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/discover"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/goldens"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/golden"
)

// exitFindings is the exit code of a command that found something to do.
const exitFindings = 1

// goldenOptions is the command line of leakgate golden.
type goldenOptions struct {
	verb     string
	dir      string // -C
	yes      bool   // -y, of prune
	patterns []string
}

// A goldenVerb is one thing that leakgate golden does. Each gets the files, of which there is at
// least one, and returns the exit code.
type goldenVerb struct {
	name string
	run  func(g *goldenCommand, files []goldens.File) (int, error)
}

func goldenVerbs() []goldenVerb {
	return []goldenVerb{
		{"list", (*goldenCommand).list},
		{"check", (*goldenCommand).check},
		{"prune", (*goldenCommand).prune},
		{"fmt", (*goldenCommand).format},
		{"tighten", nil}, // has a command line of its own
	}
}

func goldenVerbNames() []string {
	var names []string
	for _, v := range goldenVerbs() {
		names = append(names, v.name)
	}
	return names
}

func (o *goldenOptions) flagSet() *flag.FlagSet {
	f := newFlagSet("golden " + o.verb)
	f.StringVar(&o.dir, "C", "", "")
	if o.verb == "prune" {
		f.BoolVar(&o.yes, "y", false, "")
	}
	return f
}

// parseGolden reads the command line of all verbs but tighten.
func parseGolden(args []string) (*goldenOptions, error) {
	verbs := strings.Join(goldenVerbNames(), ", ")
	if len(args) == 0 {
		return nil, errors.New("golden needs one of: " + verbs)
	}
	o := &goldenOptions{verb: args[0]}
	switch {
	case o.verb == "-h" || o.verb == "-help" || o.verb == "--help":
		return nil, flag.ErrHelp
	case !slices.Contains(goldenVerbNames(), o.verb):
		return nil, fmt.Errorf("golden %s: there is only %s", o.verb, verbs)
	}
	var err error
	if o.patterns, err = parseMixed(o.flagSet(), args[1:]); err != nil {
		return nil, err
	}
	if len(o.patterns) == 0 {
		o.patterns = []string{"."}
	}
	return o, nil
}

// parseMixed parses flags that may stand before and after the other arguments, which it returns.
func parseMixed(f *flag.FlagSet, args []string) ([]string, error) {
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

// A goldenCommand is one call of leakgate golden.
type goldenCommand struct {
	*context
	*goldenOptions
}

// keepGoldens is the command "leakgate golden".
func keepGoldens(c *context, args []string) int {
	if len(args) > 0 && args[0] == "tighten" {
		return tightenGoldens(c, args[1:])
	}
	o, err := parseGolden(args)
	if err != nil {
		return c.unparsed(err, "golden")
	}
	g := &goldenCommand{c, o}
	files, err := g.find()
	if err != nil {
		return c.failure("%v", err)
	}
	if len(files) == 0 {
		return c.failure("no golden files in %s: there is nothing to %s", strings.Join(o.patterns, " "), o.verb)
	}
	for _, v := range goldenVerbs() {
		if v.name != o.verb {
			continue
		}
		code, err := v.run(g, files)
		if err != nil {
			return c.failure("%v", err)
		}
		return code
	}
	return exitUsage // not reached: parseGolden knows the verbs
}

// find returns the golden files of the packages that the patterns name.
func (g *goldenCommand) find() ([]goldens.File, error) {
	folders, err := goldens.Packages(goldens.Config{Dir: g.dir, Env: g.env}, g.patterns)
	if err != nil {
		return nil, err
	}
	var all []goldens.File
	for _, folder := range folders {
		files, err := goldens.Find(folder, func() bool { return linksLeakcheck(folder, g.env) })
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// linksLeakcheck reports whether the test binary of the package in a folder links leakcheck. Where
// the package does not load, it may.
func linksLeakcheck(folder string, env []string) bool {
	found, matched, err := discover.Packages(discover.Config{Dir: folder, Env: env}, []string{"."})
	if err != nil || matched == 0 {
		return true
	}
	return slices.ContainsFunc(found, func(p discover.Package) bool { return p.Leakcheck })
}

// shown is a file's path as the user knows it.
func shown(path string) string {
	if wd, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
	}
	return filepath.ToSlash(path)
}

// list prints a table of the files.
func (g *goldenCommand) list(files []goldens.File) (int, error) {
	w := tabwriter.NewWriter(g.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FILE\tLINES\tOBJECTS\tBYTES\tBELONGS TO")
	for _, f := range files {
		lines, objects, bytes := "-", "-", "-"
		if file, err := golden.Read(f.Path); err == nil {
			lines = fmt.Sprint(len(file.Entries()))
			objects, bytes = allowed(file)
		}
		owner := f.Owner
		switch f.State {
		case goldens.Orphaned:
			owner = "nobody: " + f.Why
		case goldens.Unclear:
			owner += "? " + f.Why
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", shown(f.Path), lines, objects, bytes, owner)
	}
	return exitPass, w.Flush()
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
func (g *goldenCommand) check(files []goldens.File) (int, error) {
	problems := 0
	problem := func(format string, args ...any) {
		problems++
		fmt.Fprintf(g.stdout, format+"\n", args...)
	}
	for _, f := range files {
		_, canonical, err := readGolden(f)
		switch {
		case err != nil:
			problem("%v", err)
		case !canonical:
			problem("%s: not in the form that updates write: leakgate golden fmt", shown(f.Path))
		}
		if f.State == goldens.Orphaned {
			problem("%s: belongs to no test (%s): leakgate golden prune", shown(f.Path), f.Why)
		}
	}
	if problems > 0 {
		return exitFindings, nil
	}
	fmt.Fprintf(g.stdout, "%s fine\n", present.Plural(len(files), "golden file"))
	return exitPass, nil
}

// readGolden reads a golden file and says whether it has its canonical text.
func readGolden(f goldens.File) (file *golden.File, canonical bool, err error) {
	if file, err = golden.Read(f.Path); err != nil {
		return nil, false, shortenGoldenError(err, f)
	}
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, false, err
	}
	return file, strings.ReplaceAll(string(text), "\r\n", "\n") == string(file.Bytes()), nil
}

// shortenGoldenError names the file as the user knows it.
func shortenGoldenError(err error, f goldens.File) error {
	if syntax, ok := errors.AsType[*golden.SyntaxError](err); ok {
		short := *syntax
		short.File = shown(f.Path)
		return &short
	}
	if version, ok := errors.AsType[*golden.VersionError](err); ok {
		short := *version
		short.File = shown(f.Path)
		return &short
	}
	return err
}

// format rewrites the files that do not have their canonical text.
func (g *goldenCommand) format(files []goldens.File) (int, error) {
	code := exitPass
	for _, f := range files {
		file, canonical, err := readGolden(f)
		switch {
		case err != nil:
			fmt.Fprintf(g.stderr, "leakgate: %v\n", err)
			code = exitFindings
		case canonical:
		case g.inCI():
			fmt.Fprintf(g.stdout, "not formatted: %s\n", shown(f.Path))
			code = exitFindings
		default:
			if err := golden.Write(f.Path, file); err != nil {
				return 0, err
			}
			fmt.Fprintf(g.stdout, "formatted %s\n", shown(f.Path))
		}
	}
	return code, nil
}

// prune removes the files that belong to no test, after it said so.
func (g *goldenCommand) prune(files []goldens.File) (int, error) {
	var orphans []goldens.File
	for _, f := range files {
		switch f.State {
		case goldens.Orphaned:
			orphans = append(orphans, f)
			fmt.Fprintf(g.stdout, "%s: %s\n", shown(f.Path), f.Why)
		case goldens.Unclear:
			fmt.Fprintf(g.stdout, "%s: kept, since %s\n", shown(f.Path), f.Why)
		}
	}
	if len(orphans) == 0 {
		fmt.Fprintf(g.stdout, "nothing to remove: %s, each with a test\n", present.Plural(len(files), "golden file"))
		return exitPass, nil
	}
	what := present.Plural(len(orphans), "golden file")
	switch {
	case g.inCI():
		fmt.Fprintf(g.stdout, "%s to remove; CI is set, so nothing is removed here\n", what)
		return exitFindings, nil
	case g.yes:
	case !term.IsTerminal(int(os.Stdin.Fd())):
		fmt.Fprintf(g.stdout, "%s to remove; to do it: leakgate golden prune -y\n", what)
		return exitFindings, nil
	case !g.confirmed("Remove " + what + "?"):
		fmt.Fprintln(g.stdout, "nothing removed")
		return exitFindings, nil
	}
	for _, f := range orphans {
		if err := f.Remove(); err != nil {
			return 0, err
		}
	}
	fmt.Fprintf(g.stdout, "removed %s\n", what)
	return exitPass, nil
}

// confirmed asks on the terminal.
func (g *goldenCommand) confirmed(question string) bool {
	fmt.Fprintf(g.stdout, "%s [y/N] ", question)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		fmt.Fprintln(g.stdout)
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// inCI reports whether the environment says so, as leakcheck reads it: nothing is written then.
func (c *context) inCI() bool {
	switch strings.ToLower(lookup(c.env, "CI")) {
	case "", "0", "f", "false":
		return false
	}
	return true
}
