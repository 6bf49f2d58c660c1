package symbolize

import (
	"bytes"
	"fmt"
	"io"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/symbolize"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
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
	if page.ValueIndex(f.Profile, "bytes") >= 0 {
		b.WriteByte('\n')
		_ = page.WriteFunctions(&b, f.Profile, most, 0) // a bytes.Buffer takes all
	}
	_, err := w.Write(b.Bytes())
	return err
}
