package page

import (
	"encoding/json"
	"fmt"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// Found is what the last scan of an assertion found, and what to compare it with. A report that is
// nil was not kept.
type Found struct {
	Report *refscan.Report
	// Native has the native blocks alone, if Before has no native blocks: how many there were
	// before is unknown, so they must not all count as new. Otherwise they are in Report.
	Native *refscan.Report

	// Before is the report to compare with: that of the run which the user names (Title is "base"),
	// else the assertion's own baseline (Title is "baseline").
	Before *refscan.Report
	Title  string

	Problems []string // why reports could not be read

	before *outcome.Assertion // the assertion that Before belongs to
}

// Find reads what an assertion of the run found.
func (b *Builder) Find(a *outcome.Assertion) *Found {
	f := new(Found)
	read := func(dir artifacts.Folder, of *outcome.Assertion, kind string) *refscan.Report {
		r, err := readReport(dir, of, kind)
		if err != nil {
			f.Problems = append(f.Problems, err.Error())
		}
		return r
	}
	if f.Report = read(b.Dir, a, "report"); f.Report == nil {
		return f
	}
	f.before, f.Title = b.sameInBase(a), "base"
	if f.Before = read(b.BaseDir, f.before, "report"); f.Before == nil {
		f.before, f.Title = a, "baseline"
		f.Before = read(b.Dir, a, "report.base")
	}
	if f.Before != nil && !hasNative(f.Before.Roots) && hasNative(f.Report.Roots) {
		f.Report, f.Native = splitNative(f.Report)
	}
	return f
}

// readReport reads a report by its kind among the artifacts: "report", which has what the last scan
// found, or "report.base", which has what there was at the baseline, or at the first snapshot of
// AssertNoGrowth. It returns nil without an error if there is no assertion, or no such report was
// kept.
func readReport(dir artifacts.Folder, a *outcome.Assertion, kind string) (*refscan.Report, error) {
	if a == nil || a.Artifacts[kind] == "" {
		return nil, nil
	}
	name := a.Artifacts[kind]
	data, err := dir.Read(name, scanreport.MaxSize)
	if err != nil {
		return nil, err
	}
	r := new(refscan.Report)
	if err = json.Unmarshal(data, r); err == nil {
		err = scanreport.CheckTree(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// sameInBase returns the same assertion in the run to compare with, nil if there is none.
func (b *Builder) sameInBase(a *outcome.Assertion) *outcome.Assertion {
	if b.Base == nil {
		return nil
	}
	for _, p := range b.Base.Packages {
		for _, o := range p.Assertions {
			if p.ImportPath == a.Package && o.Test == a.Test && o.Seq == a.Seq {
				return o
			}
		}
	}
	return nil
}
