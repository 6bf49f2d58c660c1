// Package present shows a run: its progress, and its results, in one form for each Presenter.
package present

import (
	"encoding/json"
	"io"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
)

// A Presenter writes one ended run in one form. It does not change the run, and its output depends
// on nothing else.
type Presenter interface {
	Present(w io.Writer, run *outcome.Run) error
}

// JSON writes the run as the file leakgate.json has it.
type JSON struct{}

// Present implements Presenter.
func (JSON) Present(w io.Writer, run *outcome.Run) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(run)
}
