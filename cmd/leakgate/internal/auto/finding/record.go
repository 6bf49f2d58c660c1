package finding

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/drive"
	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
)

// LeaveFindings writes the records of all failed assertions. It is called after the last Add: only
// then are all tests that feed a root known.
func (s *Sorter) LeaveFindings() error {
	var errs []error
	for _, f := range s.found {
		r := *f.group.Record
		r.Package, r.Test, r.Seq, r.Message = f.pkg, f.test(), 1, s.message(f)
		r.File, r.Line = "", 0 // they point into leakgate itself
		r.Bounds = nil
		for _, c := range f.causes {
			b := c.growth.Bound
			b.Cause = c.growth.Root
			if len(f.group.Functions) > 1 {
				b.PerCall = 0 // which of them make it grow is not known
			}
			r.Bounds = append(r.Bounds, b)
		}
		errs = append(errs, s.leave(&r, f.group.Folder))
	}
	return errors.Join(errs...)
}

// leavePass writes the record of a package in which nothing of the user's modules grows.
func (s *Sorter) leavePass(pkg string, whole *drive.Exploration) error {
	r := *whole.Record
	r.Package, r.Test, r.Seq, r.Verdict, r.Message, r.Bounds = pkg, Whole, 1, verdict.Pass, "", nil
	r.File, r.Line, r.Artifacts = "", 0, nil
	return s.leave(&r, "")
}

// leaveUnknown writes a record that says why there is no verdict.
func (s *Sorter) leaveUnknown(pkg string, whole *drive.Exploration, why, remedy string) error {
	r := verdict.Result{Schema: verdict.Schema}
	if whole != nil && whole.Record != nil {
		r = *whole.Record
	}
	r.Package, r.Test, r.Seq, r.Verdict, r.Cause, r.Remedy = pkg, Whole, 1, verdict.Unknown, why, remedy
	r.File, r.Line, r.Artifacts, r.Bounds, r.Misuse = "", 0, nil, nil, false
	r.Message = strings.TrimSpace("leakgate -auto: could not tell: " + why + "\n\n" + r.Message)
	return s.leave(&r, "")
}

// Unknown writes the record of a package without a verdict, such as one that does not build.
func (s *Sorter) Unknown(pkg, why, remedy string) error { return s.leaveUnknown(pkg, nil, why, remedy) }

// leave writes a record, with its artifacts from a folder, to where leakgate run gathers records.
func (s *Sorter) leave(r *verdict.Result, artifacts string) error {
	dir := s.folder(r.Package, r.Test)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, name := range r.Artifacts {
		data, err := os.ReadFile(filepath.Join(artifacts, filepath.FromSlash(name)))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o666)
		}
		if err != nil {
			return err
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, verdict.FileName), data, 0o666)
}

// folder returns the folder of an assertion's record.
func (s *Sorter) folder(pkg, test string) string {
	name := "unnamed"
	if file, err := golden.FileName(strings.ReplaceAll(test, " ", "_")); err == nil {
		name = strings.TrimSuffix(file, golden.Extension)
	}
	return filepath.Join(s.records, filepath.FromSlash(localPath(pkg)), filepath.FromSlash(name), "1")
}

// localPath returns an import path as a relative folder; "unnamed" if it would lead out of its
// parent.
func localPath(pkg string) string {
	if !filepath.IsLocal(filepath.FromSlash(pkg)) {
		return "unnamed"
	}
	return pkg
}

// Notes describes growth that is no finding, for people: dependencies' first. With all, it names
// each root; otherwise it only counts some classes.
func (s *Sorter) Notes(all bool) []string {
	var notes []string
	for _, c := range sorted(s.deps) {
		notes = append(notes, "in a dependency, "+c.growth.Module+": "+text(c.growth)+"; fed by "+c.fed[0].String())
	}
	for _, line := range values(s.nonFindings[Unended]) {
		notes = append(notes, "not ended by the test: "+line)
	}
	for _, line := range values(s.nonFindings[Expiring]) {
		notes = append(notes, "may expire: "+line)
	}
	for _, c := range sorted(s.onlyInGroup) {
		notes = append(notes, "grew once, and in no part of the tests when those were repeated: "+text(c.growth)+"; fed by "+c.fed[0].String())
	}
	for _, class := range []struct {
		of   Class
		text string
	}{
		{Suppressed, "suppressed by " + SuppressionsFile},
		{Test, "made by tests (in a _test.go file, or in code that only tests use)"},
		{Passing, "held by goroutines that come to an end after their tests, and do not pile up"},
		{Unnamed, "made by the standard library alone, or nobody knows by whom"},
	} {
		of := s.nonFindings[class.of]
		if len(of) == 0 {
			continue
		}
		note := textfmt.CountNoun(int64(len(of)), "thing") + " that grows is no finding: " + class.text
		if len(of) > 1 {
			note = textfmt.CountNoun(int64(len(of)), "thing") + " that grow are no findings: " + class.text
		}
		if all {
			for _, line := range values(of) {
				note += "\n  " + line
			}
		} else {
			note += "; -v names them"
		}
		notes = append(notes, note)
	}
	return notes
}

func sorted(causes map[string]*cause) []*cause {
	var all []*cause
	for _, c := range causes {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *cause) int {
		return strings.Compare(a.growth.Module+text(a.growth), b.growth.Module+text(b.growth))
	})
	return all
}

func values(m map[string]string) []string {
	var all []string
	for _, v := range m {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}
