package runtests

import (
	"fmt"
	"path/filepath"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/goldenset"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/golden"
)

// goldenPath returns the path of an assertion's golden file; "" if it is not known.
func (s *session) goldenPath(p *outcome.Package, a *outcome.Assertion) string {
	if a.Golden == nil {
		return ""
	}
	for _, f := range s.found {
		if f.ImportPath == p.ImportPath {
			return filepath.Join(f.Dir, filepath.FromSlash(a.Golden.File))
		}
	}
	return ""
}

func (s *session) eachGolden(f func(file string, a *outcome.Assertion) error) error {
	for _, p := range s.report.Packages {
		for _, a := range p.Assertions {
			if file := s.goldenPath(p, a); file != "" {
				if err := f(file, a); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// noteChanges adds to the report what the run changed in golden files, given their earlier content.
// Changes by several assertions to one file are reported with the last assertion.
func (s *session) noteChanges(before goldenset.Set) {
	last := make(map[string]*outcome.Assertion)
	_ = s.eachGolden(func(file string, a *outcome.Assertion) error {
		if a.Golden.Status == "created" || a.Golden.Status == "updated" {
			last[file] = a
		}
		return nil
	})
	for file, a := range last {
		changes, err := before.Changes(file)
		if err != nil {
			s.report.Notes = append(s.report.Notes, fmt.Sprintf("what changed in a golden file is not known: %v", err))
			continue
		}
		a.GoldenChanges = goldenChanges(changes)
	}
}

func goldenChanges(changes []golden.Change) []outcome.GoldenChange {
	var out []outcome.GoldenChange
	for _, c := range changes {
		out = append(out, outcome.GoldenChange{Kind: string(c.Kind), Text: c.String()})
	}
	return out
}

// measure collects what a run measured for golden files.
func (s *session) measure(measured goldenset.Measured) error {
	return s.eachGolden(func(file string, a *outcome.Assertion) error {
		text, ok := a.Artifacts["golden"]
		if !ok || a.Golden.Status != "measured" {
			return nil
		}
		return measured.Add(file, filepath.Join(s.dir.Path, filepath.FromSlash(text)))
	})
}

// calibrate writes the golden files that all runs together measured, and adds the changes to the
// report.
func (s *session) calibrate(measured goldenset.Measured) error {
	done, err := measured.Calibrate()
	if err != nil {
		return err
	}
	became := make(map[string]goldenset.Calibration)
	for _, c := range done {
		became[c.File] = c
	}
	return s.eachGolden(func(file string, a *outcome.Assertion) error {
		c, ok := became[file]
		if !ok {
			return nil
		}
		delete(became, file)
		switch {
		case c.Created:
			a.Golden.Status = "created"
		case len(c.Changes) > 0:
			a.Golden.Status = "updated"
		default:
			a.Golden.Status = "match"
		}
		a.GoldenChanges = goldenChanges(c.Changes)
		return nil
	})
}
