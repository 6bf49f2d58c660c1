package artifacts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// toolPackages are the packages whose allocations in a test binary are the tool's, not the program's.
var toolPackages = []string{
	"github.com/leakgate/leakgate/leakcheck",
	"github.com/leakgate/leakgate/refscan",
	"github.com/leakgate/leakgate/golden",
	"github.com/leakgate/leakgate/stackprof",
	"github.com/leakgate/leakgate/internal",
}

// DropOwn takes what the tool itself allocated out of the records' heap profiles, so that a difference of two
// is the program's alone. A profile that cannot be read is a problem, and is left as it is.
func (d *Dir) DropOwn(records []Record) (problems []string) {
	for _, r := range records {
		for _, kind := range []string{"heap", "heap.base"} {
			file, ok := r.Result.Artifacts[kind]
			if !ok {
				continue
			}
			if err := dropOwn(filepath.Join(d.Path, filepath.FromSlash(file))); err != nil {
				problems = append(problems, fmt.Sprintf("%s: %v", file, err))
			}
		}
	}
	return problems
}

func dropOwn(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return err
	}
	var kept []*profile.Sample
	for _, s := range p.Sample {
		if !allocatedByTool(s) {
			kept = append(kept, s)
		}
	}
	if len(kept) == len(p.Sample) {
		return nil
	}
	p.Sample = kept
	var b bytes.Buffer
	if err := p.Compact().Write(&b); err != nil {
		return err
	}
	return wholefile.WriteData(file, 0o666, b.Bytes())
}

// allocatedByTool reports whether the innermost function of a sample that is not the standard library's is
// one of the tool's. A test that the tool calls, through AssertNoGrowth say, is further in.
func allocatedByTool(s *profile.Sample) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function == nil {
				continue
			}
			pkg := packageOf(line.Function.Name)
			if first, _, _ := strings.Cut(pkg, "/"); !strings.Contains(first, ".") && pkg != "main" {
				continue // the standard library's, or a module's without a domain: ask its caller
			}
			return isTool(pkg)
		}
	}
	return false
}

func isTool(pkg string) bool {
	for _, tool := range toolPackages {
		if pkg == tool || strings.HasPrefix(pkg, tool+"/") {
			return true
		}
	}
	return false
}

// packageOf is the import path in a function's name: "example.com/app.(*T).Method" has "example.com/app".
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/')
	if bracket := strings.IndexByte(function, '['); bracket >= 0 && bracket < slash {
		slash = strings.LastIndexByte(function[:bracket], '/') // type arguments have paths too
	}
	if dot := strings.IndexByte(function[slash+1:], '.'); dot >= 0 {
		return function[:slash+1+dot]
	}
	return function
}
