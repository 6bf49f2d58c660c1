package artifacts

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// CorrectHeaps removes what leakgate itself allocated from the records' heap profiles, so that the
// difference of two profiles is the program's alone. It also undoes the scaling of samples that
// stand for themselves. A profile that cannot be read is a problem, and is left as it is.
func (d *Dir) CorrectHeaps(records []Record) (problems []string) {
	for _, r := range records {
		for _, kind := range []string{"heap", "heap.base"} {
			file, ok := r.Result.Artifacts[kind]
			if !ok {
				continue
			}
			if err := d.correctHeap(file, symbol.NamedModules(r.Result.Modules)); err != nil {
				problems = append(problems, fmt.Sprintf("correcting the profile %s: %v", file, err))
			}
		}
	}
	return problems
}

func (d *Dir) correctHeap(file string, modules *symbol.Modules) error {
	p, err := Folder(d.Path).Profile(file)
	if err != nil {
		return err
	}
	var kept []*profile.Sample
	for _, s := range p.Sample {
		if !allocatedByTool(s, modules) {
			kept = append(kept, s)
		}
	}
	unscaled := unscaleRecorded(kept, p.Period)
	if len(kept) == len(p.Sample) && !unscaled {
		return nil
	}
	p.Sample = kept
	var b bytes.Buffer
	if err := p.Compact().Write(&b); err != nil {
		return err
	}
	return wholefile.WriteData(filepath.Join(d.Path, filepath.FromSlash(file)), 0o666, b.Bytes())
}

// unscaleRecorded undoes the scaling of samples that were each recorded, instead of one in rate
// bytes: when it writes, runtime/pprof scales all samples alike, by their mean size and the rate
// (go1.26 runtime/pprof/protomem.go, scaleHeapSample). It reports whether there were any.
func unscaleRecorded(samples []*profile.Sample, rate int64) (any bool) {
	if rate <= 1 {
		return false
	}
	for _, s := range samples {
		if !isBelow(s, symbol.RecordingBatch) {
			continue
		}
		any = true
		for i := 0; i+1 < len(s.Value); i += 2 { // objects and bytes: allocated, in use
			objects, bytes := float64(s.Value[i]), float64(s.Value[i+1])
			if objects == 0 {
				continue
			}
			recorded := -math.Expm1(-bytes / objects / float64(rate))
			s.Value[i], s.Value[i+1] = int64(math.Round(objects*recorded)), int64(math.Round(bytes*recorded))
		}
	}
	return any
}

// isBelow reports whether a function is on a sample's stack.
func isBelow(s *profile.Sample, function string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil && line.Function.Name == function {
				return true
			}
		}
	}
	return false
}

// allocatedByTool reports whether the innermost function of a sample outside the standard library
// is one of the tool's. A test that the tool calls, for example through AssertNoGrowth, is further
// in.
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
