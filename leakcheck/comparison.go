package leakcheck

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/fmterr"
)

// A comparison is a golden file, and how the process differs from it.
type comparison struct {
	shown, full string       // the file's place, relative to the package's folder and in full
	file        *golden.File // nil: there is none yet
	write       bool         // differences are to be written, not to fail
	measureOnly bool         // there is nothing to compare with: only what a new file would be is asked for
	status      string       // as in verdict.Golden

	measured    []golden.Measurement
	differences []golden.Difference
	diff        string          // between the file's text and what an update makes of it
	changes     []golden.Change // what an update does
	updated     *golden.File
}

// Values of verdict.Golden's Status.
const (
	statusMatch    = "match"
	statusMismatch = "mismatch"
	statusMissing  = "missing"
	statusCreated  = "created"
	statusUpdated  = "updated"
	statusMeasured = "measured"
)

// openGolden reads the golden file. Without a file, one is to be made if an update was asked for, or
// outside of CI.
func openGolden(env *environment, file string) (*comparison, error) {
	if env.dirErr != nil {
		return nil, fmterr.Errorf("cannot tell where the golden files are: %w", env.dirErr)
	}
	c := &comparison{write: env.update && !env.measure, measureOnly: env.measure, status: statusMatch}
	c.shown, c.full = env.goldenPath(file)
	f, err := golden.Read(c.full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.status = statusMissing
		c.write = (env.update || !env.ci || env.goldens != "") && !env.measure
	case err != nil:
		return nil, c.shortenError(err)
	default:
		c.file = f
	}
	return c, nil
}

// shortenError names the file relative to the package's folder, as "go test" does for source files.
func (c *comparison) shortenError(err error) error {
	if syntax, ok := errors.AsType[*golden.SyntaxError](err); ok {
		short := *syntax
		short.File = c.shown
		return &short
	}
	if version, ok := errors.AsType[*golden.VersionError](err); ok {
		short := *version
		short.File = c.shown
		return &short
	}
	return err
}

// compare holds what was found against the file.
func (c *comparison) compare(e *evaluation, module string) {
	c.measured = (&ruler{module: module, listed: c.listed}).measure(e.forest)
	c.measured = append(c.measured, e.cutLines...)
	if e.goroutines != nil {
		c.measured = append(c.measured, e.goroutines.measured...)
	}
	if c.measureOnly {
		c.status = statusMeasured
	}
	if c.measureOnly || c.file == nil {
		c.updated = golden.New(c.measured)
		return
	}
	c.differences = c.file.Compare(c.measured)
	c.status = statusMatch
	if len(c.failures()) > 0 {
		c.status = statusMismatch
	}
	c.updated, c.changes = c.file.Update(c.measured)
	c.diff = golden.Diff(string(c.file.Bytes()), string(c.updated.Bytes()))
}

// listed reports whether the file has an entry at or below a root, so that it is the file's business how
// far the root is spelled out.
func (c *comparison) listed(root string) bool {
	if c.file == nil {
		return false
	}
	for _, e := range c.file.Entries() {
		if rest, ok := strings.CutPrefix(e.Path, root); ok && atBoundary(rest, 0) {
			return true
		}
	}
	return false
}

// failures returns the differences that are regressions.
//
//go:noinline
func (c *comparison) failures() []golden.Difference {
	var f []golden.Difference
	for _, d := range c.differences {
		if d.Failure() {
			f = append(f, d)
		}
	}
	return f
}

func (c *comparison) ok() bool {
	return c.write || c.measureOnly || c.file != nil && len(c.failures()) == 0
}

// changed reports whether writing would change anything.
func (c *comparison) changed() bool {
	return c.file == nil || !bytes.Equal(c.file.Bytes(), c.updated.Bytes())
}

// save writes the file and returns what to log, one line each.
func (c *comparison) save() ([]string, error) {
	if !c.changed() {
		return nil, nil
	}
	if err := golden.Write(c.full, c.updated); err != nil {
		return nil, err
	}
	if c.file == nil {
		c.status = statusCreated
		return []string{fmt.Sprintf("created %s with %s; review it and commit it", c.shown, countNoun(int64(len(c.updated.Entries())), "line"))}, nil
	}
	c.status = statusUpdated
	lines := []string{"updated " + c.shown}
	for _, ch := range c.changes {
		lines = append(lines, "    "+ch.String())
	}
	return lines, nil
}

// tighter returns the text that the file would have after an update that can only lower it, "" if there
// is nothing to lower.
func (c *comparison) tighter() string {
	if c.improvements() == "" {
		return ""
	}
	return string(c.updated.Bytes())
}

// improvements says what the golden file allows and the process no longer needs, "" if nothing.
func (c *comparison) improvements() string {
	n := 0
	for _, d := range c.differences {
		if !d.Failure() {
			n++
		}
	}
	if n == 0 || len(c.failures()) > 0 {
		return ""
	}
	return fmt.Sprintf("%s: less is retained than %s allows; an update would tighten it", c.shown, countNoun(int64(n), "line"))
}
