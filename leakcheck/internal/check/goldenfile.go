package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A Comparison is a golden file, and how the process differs from it.
type Comparison struct {
	Shown, full string       // the file's place, relative to the package's folder and in full
	File        *golden.File // nil: there is none yet
	Write       bool         // differences are written to the file, and do not fail
	// why no file is made where the process runs, if there is none yet
	Elsewhere string
	// the file is not compared; Updated is what a new file would be
	MeasureOnly bool
	Status      string // as in verdict.Golden

	measured     []golden.Measurement
	Failures     []golden.Difference // regressions
	improvements int                 // lines that allow more than is retained
	Diff         string              // from the file's text to the text that an update makes
	changes      []golden.Change     // changes of an update
	Updated      *golden.File
}

// Values of verdict.Golden's Status.
const (
	statusMatch    = "match"
	statusMismatch = "mismatch"
	statusMissing  = "missing"
	statusCreated  = "created"
	statusUpdated  = "updated"
	statusMeasured = "measured"
)

// OpenGolden reads the golden file. If there is none, the result is to be written if an update was
// asked for, or outside of CI.
func OpenGolden(env *environ.Environment, file string) (*Comparison, error) {
	if env.DirErr != nil {
		return nil, fmt.Errorf("cannot tell where the golden files are: %w", env.DirErr)
	}
	c := &Comparison{Write: env.Update && !env.Measure, MeasureOnly: env.Measure, Status: statusMatch}
	c.Shown, c.full = env.GoldenPath(file)
	f, err := golden.Read(c.full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Status = statusMissing
		c.Write = (env.Update || !env.Ci || env.Goldens != "") && !env.Measure
		if folder, isHere := env.PackageFolder(); c.Write && env.Goldens == "" && !isHere {
			c.Write, c.Elsewhere = false, elsewhereFrom(env, folder)
		}
	case err != nil:
		return nil, c.shortenError(err)
	default:
		c.File = f
	}
	return c, nil
}

// elsewhereFrom says that the process does not run in the package's folder.
func elsewhereFrom(env *environ.Environment, folder string) string {
	if folder == "" {
		folder = "the folder of package " + env.PackagePath
	}
	return fmt.Sprintf("this test binary runs in %s, not in %s", env.Dir, folder)
}

// shortenError names the file relative to the package's folder, as "go test" does for source files.
func (c *Comparison) shortenError(err error) error {
	if syntax := (*golden.SyntaxError)(nil); errors.As(err, &syntax) {
		short := *syntax
		short.File = c.Shown
		return &short
	}
	if version := (*golden.VersionError)(nil); errors.As(err, &version) {
		short := *version
		short.File = c.Shown
		return &short
	}
	return err
}

// A GoldenCheck compares all that is retained with a golden file.
type GoldenCheck struct {
	Req   *request.Request
	Scope tree.Scope
	Env   *environ.Environment
	File  *Comparison // the file, before anything is measured
}

func (c *GoldenCheck) Problems(r *request.Request) []string {
	if c.Env.NoBuildInfo && len(r.Scope) == 0 {
		return []string{fmt.Sprintf("the program was linked without build information, so it is not known which packages the golden file is about: "+
			"name them, as in Scope(%q)", cmp.Or(c.Env.PackagePath, "example.com/app")+"/...")}
	}
	switch {
	case r.Baseline == nil:
	case len(r.Recorded) > 0:
		return []string{SinceBesideRetained}
	case r.Native:
		return []string{SinceBesideNative}
	}
	return nil
}

func (c *GoldenCheck) Needs() observe.Needs {
	return observe.Needs{Order: request.OrderOf(c.Req, c.Scope), Heap: true, Retained: len(c.Req.Recorded) > 0, Native: c.Req.Native}
}

func (c *GoldenCheck) Evaluate(s *Seen, r *Result) {
	for i := range c.Req.Recorded {
		sel := &c.Req.Recorded[i]
		if problem := NothingMeant(sel.Shown, sel, c.Scope, s); problem != "" {
			r.Problems = append(r.Problems, problem)
		}
	}
	compared := *c.File
	compared.Compare(c.measure(s))
	r.Golden = &compared
	if compared.Ok() {
		return
	}
	for _, d := range compared.Failures {
		f := lineFinding(&d, s.Forest)
		f.Freed = len(c.Req.Recorded) > 0
		r.Findings = append(r.Findings, f)
	}
}

// measure returns what is retained, and what goroutines there are.
func (c *GoldenCheck) measure(s *Seen) []golden.Measurement {
	lines := append((&Ruler{Modules: c.Env.Modules, Listed: c.File.listed}).Measure(s.Forest), cutLines(c.Req.Recorded, s.Forest)...)
	if len(c.Req.Goroutines) > 0 {
		var base goroutine.Census
		if c.Req.Baseline != nil {
			base = c.Req.Baseline.Goroutines
		}
		lines = append(lines, MeasureGoroutines(c.Req.Goroutines, s.Census, base)...)
	}
	return lines
}

// lineFinding returns the finding for a golden-file line that does not hold, or for a path without
// a line.
func lineFinding(d *golden.Difference, f tree.Forest) Finding {
	record := verdict.Bound{
		Kind: verdict.Retained, Selector: "golden " + d.Entry.Path, Objects: d.Objects, Bytes: d.Bytes,
		Path: d.Entry.Path, Type: d.Entry.Type,
	}
	objects, bytes := d.Objects-d.ObjectsOver, d.Bytes-d.BytesOver
	if d.ObjectsOver > 0 || d.Kind == golden.Unlisted {
		record.MaxObjects = &objects
	}
	if d.BytesOver > 0 {
		record.MaxBytes = &bytes
	}
	found := Finding{Line: d, Broken: true, Record: record, Heap: Heap{Weight: tree.BytesOf, Culprits: f.Covered(d.Covered)}}
	if d.ObjectsOver > 0 {
		found.Weight = tree.ObjectsOf
	}
	sort.SliceStable(found.Culprits, func(i, j int) bool {
		return tree.CompareTallies(found.Weight, found.Culprits[j].Own(), found.Culprits[i].Own()) < 0
	})
	return found
}

// Compare compares measurements with the file.
func (c *Comparison) Compare(measured []golden.Measurement) {
	c.measured = measured
	if c.MeasureOnly {
		c.Status = statusMeasured
	}
	if c.MeasureOnly || c.File == nil {
		c.Updated = golden.New(c.measured)
		return
	}
	c.Failures, c.improvements, c.Status = nil, 0, statusMatch
	for _, d := range c.File.Compare(c.measured) {
		if d.Failure() {
			c.Failures, c.Status = append(c.Failures, d), statusMismatch
		} else {
			c.improvements++
		}
	}
	c.Updated, c.changes = c.File.Update(c.measured)
	c.Diff = golden.Diff(string(c.File.Bytes()), string(c.Updated.Bytes()))
}

// Writing reports whether the file is about to be written: two snapshots must show the same before
// it is written.
func (c *Comparison) Writing() bool { return c != nil && c.Write && c.Changed() }

// Same reports whether two comparisons would write the same file. It returns false if one of them
// is nil.
func (c *Comparison) Same(other *Comparison) bool {
	return c != nil && other != nil && string(golden.New(c.measured).Bytes()) == string(golden.New(other.measured).Bytes())
}

// listed reports whether the file has an entry at or below a root. If so, the file's own patterns
// decide how far the root is spelled out.
func (c *Comparison) listed(root string) bool {
	if c.File == nil {
		return false
	}
	for _, e := range c.File.Entries() {
		if rest, ok := strings.CutPrefix(e.Path, root); ok && naming.AtBoundary(rest, 0) {
			return true
		}
	}
	return false
}

// Renamed returns how many lines match nothing, if they allow exactly as many objects as are
// retained at paths without a line, and no other line is exceeded; else 0. That is what the rename
// of a module, a package, a variable or a field looks like.
func (c *Comparison) Renamed() (lines int) {
	left := int64(0)
	for _, d := range c.File.Compare(c.measured) {
		switch d.Kind {
		case golden.Over:
			return 0
		case golden.Unlisted:
			left -= d.Objects
		case golden.Gone:
			allowed, _ := d.Entry.Objects.Max()
			left += allowed
			lines++
		}
	}
	if left != 0 {
		return 0
	}
	return lines
}

// Ok reports whether the process is within the file, or is not compared with it because the file is
// to be written or only measured.
func (c *Comparison) Ok() bool {
	return c.Write || c.MeasureOnly || c.File != nil && len(c.Failures) == 0
}

// Written reports whether the file has been made or rewritten.
func (c *Comparison) Written() bool { return c.Status == statusCreated || c.Status == statusUpdated }

// Changed reports whether writing would change anything.
func (c *Comparison) Changed() bool {
	return c.File == nil || !bytes.Equal(c.File.Bytes(), c.Updated.Bytes())
}

// Save writes the file and returns what to log, one line each.
func (c *Comparison) Save() ([]string, error) {
	if !c.Changed() {
		return nil, nil
	}
	if err := golden.Write(c.full, c.Updated); err != nil {
		return nil, err
	}
	if c.File == nil {
		c.Status = statusCreated
		return []string{fmt.Sprintf("created %s with %s; review it and commit it", c.Shown, textfmt.CountNoun(int64(len(c.Updated.Entries())), "line"))}, nil
	}
	c.Status = statusUpdated
	lines := []string{"updated " + c.Shown}
	for _, ch := range c.changes {
		lines = append(lines, "    "+ch.String())
	}
	return lines, nil
}

// Tighter returns the text of the file after an update that can only lower its bounds, "" if there
// is nothing to lower.
func (c *Comparison) Tighter() string {
	if c.Improvements() == "" {
		return ""
	}
	return string(c.Updated.Bytes())
}

// Improvements returns a note that the golden file allows more than is retained, "" if it does not.
func (c *Comparison) Improvements() string {
	if c.improvements == 0 || len(c.Failures) > 0 {
		return ""
	}
	allow := "allow"
	if c.improvements == 1 {
		allow = "allows"
	}
	return fmt.Sprintf("%s: less is retained than %s %s; an update would tighten it", c.Shown, textfmt.CountNoun(int64(c.improvements), "line"), allow)
}
