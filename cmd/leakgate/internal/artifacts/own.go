package artifacts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// DropOwn takes what the tool itself allocated out of the records' heap profiles, so that a
// difference of two is the program's alone. A profile that cannot be read is a problem, and is left
// as it is.
func (d *Dir) DropOwn(records []Record) (problems []string) {
	for _, r := range records {
		for _, kind := range []string{"heap", "heap.base"} {
			file, ok := r.Result.Artifacts[kind]
			if !ok {
				continue
			}
			if err := dropOwn(filepath.Join(d.Path, filepath.FromSlash(file)), symbol.NamedModules(r.Result.Modules)); err != nil {
				problems = append(problems, fmt.Sprintf("%s: %v", file, err))
			}
		}
	}
	return problems
}

func dropOwn(file string, modules *symbol.Modules) error {
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
		if !allocatedByTool(s, modules) {
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

// allocatedByTool reports whether the innermost function of a sample that is not the standard
// library's is one of the tool's. A test that the tool calls, through AssertNoGrowth say, is
// further in.
func allocatedByTool(s *profile.Sample, modules *symbol.Modules) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function == nil {
				continue
			}
			pkg := symbol.Package(line.Function.Name)
			if modules.IsStandard(pkg) {
				continue // ask its caller
			}
			return symbol.IsTool(pkg)
		}
	}
	return false
}
