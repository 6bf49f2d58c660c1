package page

import (
	"fmt"
	"io"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/internal/pprofwire"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// WriteFunctions writes the first rows of a table of a profile's functions: what each has itself
// (flat), what it has with its callees (cum), and, beside bytes, the count of objects or goroutines
// (cum). Functions that the profile drops are left out. Names longer than columns allow are cut; 0
// cuts none.
func WriteFunctions(w io.Writer, p *profile.Profile, rows, columns int) error {
	first, second := ValueIndex(p, "bytes"), ValueIndex(p, "count")
	number := textfmt.ByteCount
	if first < 0 {
		first, second, number = max(0, second), -1, textfmt.Count
	}
	p = p.Copy()
	p.RemoveUninteresting()
	var t pprofwire.FunctionTable
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function != nil {
					names = append(names, line.Function.Name)
				}
			}
		}
		count := int64(0)
		if second >= 0 {
			count = s.Value[second]
		}
		t.Add(names, s.Value[first], count)
	}
	noun := func(i int) string {
		_, name, of := strings.Cut(p.SampleType[i].Type, "_") // inuse_objects
		if !of {
			name = p.SampleType[i].Type
		}
		return "cum " + name
	}
	unit := "bytes"
	if second < 0 {
		unit = strings.TrimPrefix(noun(first), "cum ")
	}
	var b strings.Builder
	flatWidth, cumWidth := len("flat "+unit), max(10, len("cum "+unit))
	line := func(flat, cum, count, name string) {
		text := fmt.Sprintf("%*s  %*s  ", flatWidth, flat, cumWidth, cum)
		if second >= 0 {
			text += fmt.Sprintf("%14s  ", count)
		}
		if columns > 0 {
			name = textfmt.Abridge(name, columns-len(text))
		}
		b.WriteString(text + name + "\n")
	}
	header := ""
	if second >= 0 {
		header = noun(second)
	}
	line("flat "+unit, "cum "+unit, header, "function")
	functions := t.Functions()
	for i, f := range functions {
		if i == rows {
			fmt.Fprintf(&b, "and %s\n", textfmt.CountNoun(int64(len(functions)-i), "more function"))
			break
		}
		line(number(f.Flat), number(f.Cum), textfmt.Count(f.Goroutines), f.Name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
