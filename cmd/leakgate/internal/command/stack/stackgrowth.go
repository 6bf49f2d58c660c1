package stack

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

// showGrowth prints which functions made stacks grow while a CPU profile was taken, and writes
// their samples to -o.
func (o *Options) showGrowth(w io.Writer, cpu *profile.Profile) error {
	grown, err := growth(cpu)
	if err != nil {
		return fmt.Errorf("%s: %w", o.source, err)
	}
	if o.output != "" {
		var b bytes.Buffer
		if err := grown.Write(&b); err != nil {
			return err
		}
		if err := cli.WriteData(o.output, b.Bytes()); err != nil {
			return err
		}
	}
	samples := make(map[string]int)
	for _, s := range grown.Sample {
		if lines := s.Location[0].Line; len(lines) > 0 && lines[len(lines)-1].Function != nil {
			samples[lines[len(lines)-1].Function.Name] += int(s.Value[0])
		}
	}
	names := make([]string, 0, len(samples))
	for name := range samples {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(samples[b]-samples[a], cmp.Compare(a, b)) })
	var b bytes.Buffer
	fmt.Fprintf(&b, "%8s  function whose frame did not fit\n", "samples")
	for i, name := range names {
		if i == o.count && o.count > 0 {
			fmt.Fprintf(&b, "and %d more functions\n", len(names)-i)
			break
		}
		fmt.Fprintf(&b, "%8d  %s\n", samples[name], name)
	}
	if len(names) == 0 {
		fmt.Fprintln(&b, "no sample was taken while a stack was copied")
	}
	_, err = w.Write(b.Bytes())
	return err
}
