package goldenset

import (
	"slices"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// A ComparedPackage is a package of a run whose assertions compared with golden files.
type ComparedPackage struct {
	ImportPath string
	Files      []ComparedFile // sorted by name
}

// A ComparedFile is a golden file and what the assertions that compared with it found.
type ComparedFile struct {
	Name string // slash path below the package's folder
	// for each assertion the text that the file could have, "" if the file fits as it is
	Tighter []string
	Kept    string // why the run cannot tighten the file, "" if it can
}

// Compared gathers the golden files that a run compared with.
func Compared(run *outcome.Run) []ComparedPackage {
	var out []ComparedPackage
	for _, p := range run.Packages {
		files := make(map[string]*ComparedFile)
		for _, a := range p.Assertions {
			if a.Golden == nil {
				continue
			}
			f := files[a.Golden.File]
			if f == nil {
				f = &ComparedFile{Name: a.Golden.File}
				files[a.Golden.File] = f
			}
			f.add(a)
		}
		if len(files) == 0 {
			continue
		}
		pkg := ComparedPackage{ImportPath: p.ImportPath}
		for _, f := range files {
			pkg.Files = append(pkg.Files, *f)
		}
		slices.SortFunc(pkg.Files, func(a, b ComparedFile) int {
			if a.Name < b.Name {
				return -1
			}
			return 1
		})
		out = append(out, pkg)
	}
	return out
}

func (f *ComparedFile) add(a *outcome.Assertion) {
	switch {
	case a.Verdict == verdict.Unknown:
		f.Kept = a.Test + " could not tell"
	case a.Verdict == verdict.Fail:
		f.Kept = a.Test + " failed"
	case a.Golden.Status == "created" || a.Golden.Status == "updated":
		f.Kept = "the run itself wrote it"
	}
	f.Tighter = append(f.Tighter, a.Golden.Tighter)
}
