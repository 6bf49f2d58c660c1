//go:build leakgate

package leakcheck

import (
	"io"

	"github.com/leakgate/leakgate/stackprof"
)

func init() {
	writeStacks = func(w io.Writer) error {
		p, err := stackprof.Take()
		if err == nil {
			_, err = p.WriteTo(w)
		}
		return err
	}
}
