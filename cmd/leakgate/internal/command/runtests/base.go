package runtests

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/goldenset"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/revision"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// A base is another revision, whose own tests this command runs.
type base struct {
	*revision.Revision
	c     *cli.Context
	o     *Options
	found []gotest.Package // of this working tree
	goEnv gotest.GoEnv
	run   *outcome.Run // without packages if nothing there uses leakcheck
}

// errBase is why a revision that exists could not be measured: then there is no verdict.
type errBase struct{ err error }

func (e *errBase) Error() string { return e.err.Error() }

func (e *errBase) Unwrap() error { return e.err }

// measureBase runs the tests of packages at the revision that o names, or finds the results of an
// earlier measurement. It writes the golden files that they would have at that revision to the
// directory goldens. say tells the user what goes on.
func measureBase(c *cli.Context, o *Options, found []gotest.Package, goEnv gotest.GoEnv, goldens string, say func(string)) (*base, error) {
	r, err := revision.Find(o.dir, o.base)
	if err != nil {
		return nil, fmt.Errorf("-base: %w", err) // a wrong command line
	}
	b := &base{Revision: r, c: c, o: o, found: found, goEnv: goEnv}
	if b.run, err = b.measure(goldens, say); err != nil {
		return nil, &errBase{fmt.Errorf("-base %s: %w", r, err)}
	}
	return b, nil
}

func (b *base) measure(goldens string, say func(string)) (*outcome.Run, error) {
	store, err := revision.OpenStore(b.Revision)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	seeds, err := goldenSeeds(b.found)
	if err != nil {
		return nil, err
	}
	entry, err := store.Entry(append(b.keys(), seeds.keys()...)...)
	if err != nil {
		return nil, err
	}
	if entry.Found {
		say(fmt.Sprintf("base %s was measured before", b))
	} else {
		say(fmt.Sprintf("measuring the base %s", b))
		if err := b.measureInto(entry.Dir, seeds, store.Tree()); err != nil {
			return nil, err
		}
	}
	run, err := outcome.Read(filepath.Join(entry.Dir, "artifacts"))
	if err != nil {
		return nil, err
	}
	if !entry.Found && isWhole(run) {
		if err := entry.Keep(); err != nil {
			return nil, err
		}
	}
	// The run writes golden files for assertions that the base does not have, so it gets a copy.
	return run, os.CopyFS(goldens, os.DirFS(filepath.Join(entry.Dir, "base")))
}

// isWhole reports whether all tests of a base ran to their end and could tell. A measurement that
// is not whole may be so the next time.
func isWhole(run *outcome.Run) bool {
	crashed := slices.ContainsFunc(run.Packages, func(p *outcome.Package) bool { return p.Crashed })
	return !crashed && run.Totals.Unknown == 0 && len(run.Problems) == 0
}

// measureInto checks the revision out at tree and runs its tests. The results go to dir: the golden
// files to dir/base, a name that messages show, and the artifacts of the run to dir/artifacts.
func (b *base) measureInto(dir string, s seeds, tree string) error {
	goldens, reports := filepath.Join(dir, "base"), filepath.Join(dir, "artifacts")
	if err := s.write(goldens); err != nil {
		return err
	}
	w, err := b.Checkout(tree)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	packages, err := b.packagesAt(w)
	if err != nil {
		return err
	}
	if len(packages) == 0 {
		return nothingAt(reports)
	}
	return b.runAt(w.Dir, reports, goldens, packages)
}

// nothingAt writes the report of a revision without tests that use leakcheck.
func nothingAt(reports string) error {
	dir, err := artifacts.Open(reports)
	if err != nil {
		return err
	}
	defer dir.Close()
	empty := &outcome.Run{Schema: outcome.Schema, Outcome: outcome.Nothing, ExitCode: outcome.ExitCode(outcome.Nothing)}
	return dir.WriteReport(func(w io.Writer) error { return present.JSON{}.Present(w, empty) })
}

// keys returns what a measurement depends on, besides golden files.
func (b *base) keys() []string {
	self := cli.Version()
	if path, err := os.Executable(); err == nil {
		if info, err := os.Stat(path); err == nil { // builds of a checkout may share a version
			self += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
		}
	}
	keys := append([]string{
		self, b.Commit, b.o.dir, b.goEnv.GOVERSION, b.goEnv.GOFLAGS, runtime.GOOS, runtime.GOARCH,
		cli.Lookup(b.c.Env, "CGO_ENABLED"), cli.Lookup(b.c.Env, "GOEXPERIMENT"), cli.Lookup(b.c.Env, "GOMAXPROCS"),
	}, b.o.baseArgs()...)
	for _, p := range b.found {
		keys = append(keys, p.ImportPath)
	}
	return keys
}

// baseArgs returns the flags of this run that its base is run with, and the arguments after --.
func (o *Options) baseArgs() []string {
	args := []string{"-update", "-count", strconv.Itoa(o.count)}
	if o.auto.on {
		args = []string{"-auto", "-auto-time", o.auto.time.String()}
	}
	for _, f := range []struct{ name, value string }{{"-run", o.run}, {"-tags", o.tags}, {"-timeout", o.timeout}} {
		if f.value != "" {
			args = append(args, f.name, f.value)
		}
	}
	if o.race {
		args = append(args, "-race")
	}
	if o.all {
		args = append(args, "-all")
	}
	if o.isolate {
		args = append(args, "-isolate")
	}
	return append(append(args, "--"), o.passthrough.All()...)
}

// packagesAt returns the packages that also have tests with leakcheck in w.
func (b *base) packagesAt(w *revision.Worktree) ([]string, error) {
	if i := slices.IndexFunc(b.o.patterns, filepath.IsAbs); i >= 0 {
		return nil, fmt.Errorf("%s is a place in this working tree only: give packages relative to the current directory", b.o.patterns[i])
	}
	there, err := w.Packages(b.c.Env, b.o.invocation(gotest.GoEnv{}).BuildFlags(), b.o.patterns)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, p := range there {
		here := slices.ContainsFunc(b.found, func(f gotest.Package) bool { return f.ImportPath == p.ImportPath })
		if here && (p.Leakcheck || b.o.all || b.o.auto.on) {
			paths = append(paths, p.ImportPath)
		}
	}
	return paths, nil
}

// runAt runs leakgate in dir. It leaves its report in reports, and golden files in goldens.
func (b *base) runAt(dir, reports, goldens string, packages []string) error {
	args := append([]string{"-C", dir, "-o", reports, "-github", "off", "-artifacts", "none"}, packages...)
	args = append(args, b.o.baseArgs()...)
	var output bytes.Buffer
	env := append(slices.Clone(b.c.Env), envvar.Goldens.Set(goldens))
	Run(&cli.Context{Stdout: &output, Stderr: &output, Env: env, Help: b.c.Help}, args)
	report, err := outcome.Read(reports)
	switch {
	case err != nil:
		return fmt.Errorf("its tests did not run:\n%s", textfmt.LastLines(output.String(), 30))
	case report.Interrupted:
		return errors.New("interrupted")
	case report.Outcome == outcome.BuildError:
		return fmt.Errorf("its tests do not build:\n%s", textfmt.LastLines(output.String(), 30))
	}
	return nil
}

// judge compares a run with the base. With auto it compares what grows, whichever test feeds it.
func (b *base) judge(run *outcome.Run, auto bool) {
	run.Base = &outcome.Base{Name: b.Name, Commit: b.Commit}
	var unmatched int
	if auto {
		compare.AgainstRoots(run, b.run)
	} else {
		unmatched = compare.Against(run, b.run)
	}
	run.Excuse()
	cut, unknown := compare.Unmeasured(run, b.run)
	b.addUnmeasured(run, cut, "a test binary ended before its tests did")
	b.addUnmeasured(run, unknown, "leakcheck could not tell")
	for _, side := range []struct {
		name string
		run  *outcome.Run
	}{{"this revision", run}, {"the base", b.run}} {
		for _, p := range side.run.Packages {
			for _, a := range p.Assertions {
				switch {
				case a.Golden == nil:
				case !strings.HasPrefix(a.Golden.File, "base/"):
					run.AddProblem(fmt.Sprintf("the version of leakcheck that %s uses does not know -base: update github.com/leakgate/leakgate there", side.name))
				case side.run == run && a.Golden.Status == "created":
					// in a copy of the base's golden files, which nobody sees
					a.Golden.Status = outcome.GoldenNew
				}
			}
		}
	}
	if n := run.Totals.Known; n > 0 {
		run.Notes = append(run.Notes, present.Plural(n, "assertion")+" that failed here failed in "+b.String()+" too, with as much: known")
	}
	if unmatched > 0 {
		run.Notes = append(run.Notes, present.Plural(unmatched, "assertion")+" not in "+b.String()+": nothing to compare with")
	}
}

// maxUnmeasured is how many assertions are named that the base did not measure.
const maxUnmeasured = 5

// addUnmeasured adds a problem for assertions that the base did not measure, and the reason.
func (b *base) addUnmeasured(run *outcome.Run, sites []compare.Site, why string) {
	if len(sites) == 0 {
		return
	}
	var names []string
	for _, s := range sites {
		names = append(names, s.Package+"."+s.String())
	}
	run.AddProblem(fmt.Sprintf("nothing to compare %s with: in %s, %s; correct that revision, or give another with -base",
		textfmt.EnumerateFirst(names, maxUnmeasured), b, why))
}

// Seeds are the golden files of this working tree, from which those of the base are made: a limit
// that somebody wrote (<=N, *) is a limit for the comparison, too.
type seeds map[string][]byte // by slash path below the directory of golden files

func goldenSeeds(found []gotest.Package) (seeds, error) {
	s := make(seeds)
	for _, p := range found {
		files, err := goldenset.Find(p.Dir, func() bool { return true })
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			data, err := cli.ReadFile(f.Path)
			if err != nil {
				return nil, err
			}
			s[p.ImportPath+"/"+f.Name] = data
		}
	}
	return s, nil
}

func (s seeds) keys() []string {
	var keys []string
	for name, data := range s {
		keys = append(keys, fmt.Sprintf("%s %x", name, sha256.Sum256(data)))
	}
	slices.Sort(keys)
	return keys
}

func (s seeds) write(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, data := range s {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
