package symbolize

import (
	"bytes"
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/symbolize"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
	"github.com/leakgate/leakgate/internal/pprofwire"
)

// show prints where names come from, and the functions that hold most.
func show(w io.Writer, f *dump.HeapProfile, r *symbolize.Result, most int) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s profile: %d of %d addresses have names\n\n", f.Format, r.Named, r.Addresses)
	fmt.Fprintf(&b, "%6s %6s  %s\n", "named", "of", "mapping")
	for _, m := range r.Modules {
		fmt.Fprintf(&b, "%6d %6d  %s", m.Named, m.Addresses, m.Name)
		if m.Names != "" {
			fmt.Fprintf(&b, " (%s)", m.Names)
		}
		b.WriteByte('\n')
	}
	writeTop(&b, f.Profile, most)
	_, err := w.Write(b.Bytes())
	return err
}

// writeTop prints functions with the memory that they and their callees allocated. Functions of the
// allocator are left out, as viewers do.
func writeTop(b *bytes.Buffer, p *profile.Profile, most int) {
	space, objects := page.ValueIndex(p, "bytes"), page.ValueIndex(p, "count")
	if space < 0 {
		return
	}
	p = p.Copy()
	p.RemoveUninteresting()
	var t pprofwire.FunctionTable
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
		}
		blocks := int64(0)
		if objects >= 0 {
			blocks = s.Value[objects]
		}
		t.Add(names, s.Value[space], blocks)
	}
	top := t.Functions()
	fmt.Fprintf(b, "\n%14s %14s %11s  %s\n", "flat bytes", "cum bytes", "blocks", "function")
	for i, f := range top {
		if i == most && most > 0 {
			fmt.Fprintf(b, "and %d more functions\n", len(top)-i)
			break
		}
		// The table's number of goroutines is the number of blocks here.
		fmt.Fprintf(b, "%14d %14d %11d  %s\n", f.Flat, f.Cum, f.Goroutines, f.Name)
	}
}
