package stackprof

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// A Function is one line of a profile's table.
type Function struct {
	Name string
	// Flat is the bytes of its own frames, Cum those of its callees too. They are of stack_total.
	Flat, Cum int64
	// Goroutines is the number of goroutines that have it on their stack.
	Goroutines int64
}

// Top sums a stack profile up by function, the largest flat value first. It fails for a profile of another kind.
func Top(p *profile.Profile) ([]Function, error) {
	total, goroutines := sampleType(p, Total), sampleType(p, Goroutines)
	if total < 0 || goroutines < 0 {
		return nil, fmt.Errorf("stackprof: this is no stack profile: it has no sample types %s and %s", Total, Goroutines)
	}
	index := make(map[string]*Function)
	var order []*Function
	function := func(name string) *Function {
		f := index[name]
		if f == nil {
			f = &Function{Name: name}
			index[name] = f
			order = append(order, f)
		}
		return f
	}
	counted := make(map[*Function]int) // number of the last sample that counted
	for i, s := range p.Sample {
		leaf := true
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function == nil {
					continue
				}
				f := function(line.Function.Name)
				if leaf {
					f.Flat += s.Value[total]
					leaf = false
				}
				if counted[f] == i+1 {
					continue // it calls itself
				}
				counted[f] = i + 1
				f.Cum += s.Value[total]
				f.Goroutines += s.Value[goroutines]
			}
		}
	}
	out := make([]Function, len(order))
	for i, f := range order {
		out[i] = *f
	}
	slices.SortStableFunc(out, func(a, b Function) int {
		switch {
		case a.Flat != b.Flat:
			return int(max(-1, min(1, b.Flat-a.Flat)))
		case a.Cum != b.Cum:
			return int(max(-1, min(1, b.Cum-a.Cum)))
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

func sampleType(p *profile.Profile, name string) int {
	return slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == name })
}

// WriteText writes the profile as text: the sums, then the functions with the most stack memory, at most limit
// of them (all if limit is 0).
func (p *Profile) WriteText(w io.Writer, limit int) error {
	top, err := Top(p.Proto())
	if err != nil {
		return err
	}
	s := p.Stacks
	var b strings.Builder
	var used, free int64
	for _, g := range s.Goroutines {
		used += g.Used()
		free += g.Free()
	}
	fmt.Fprintf(&b, "stack memory: %d bytes (heap %d, operating system %d, unattributed %d)\n",
		s.HeapBytes+s.OSBytes, s.HeapBytes, s.OSBytes, s.Unattributed)
	fmt.Fprintf(&b, "%12d bytes in %d goroutines: %d in use, %d free\n", used+free, len(s.Goroutines), used, free)
	for _, o := range s.Others {
		fmt.Fprintf(&b, "%12d bytes: %s (%d)\n", o.Bytes, o.Kind, o.Count)
	}
	fmt.Fprintf(&b, "world stopped for %s\n", s.Pause)
	for _, warning := range s.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	b.WriteString("\n")
	_ = WriteTable(&b, top, limit) // a strings.Builder takes all
	_, err = io.WriteString(w, b.String())
	return err
}

// WriteTable writes the first functions as a table, at most limit of them (all if limit is 0).
func WriteTable(w io.Writer, top []Function, limit int) error {
	shown := top
	if limit > 0 && len(top) > limit {
		shown = top[:limit]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%14s %14s %11s  %s\n", "flat bytes", "cum bytes", "goroutines", "function")
	for _, f := range shown {
		fmt.Fprintf(&b, "%14d %14d %11d  %s\n", f.Flat, f.Cum, f.Goroutines, f.Name)
	}
	if n := len(top) - len(shown); n > 0 {
		fmt.Fprintf(&b, "and %d more functions\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
