// Package scanreport shows scans that no test made: as a tree of roots, as a file, and as the
// growth between two scans. Packages refscanhttp and spike, and the command, write what it
// returns. Its API may change with them.
package scanreport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/wholefile"
	"github.com/leakgate/leakgate/refscan"
)

// schema is the version of the JSON form of a Scan.
const schema = 1

// A Scan is a scan of a process at some time.
type Scan struct {
	Schema  int             `json:"schema"`
	Source  string          `json:"source"`  // "core file core.1234"
	Program string          `json:"program"` // its file, as it was given
	Taken   time.Time       `json:"taken"`   // for core files, when they were written
	Report  *refscan.Report `json:"report"`
	// Of a running process: how often it was stopped until its memory could be read, and why it
	// stayed stopped while it was read, "" if it did not.
	Attempts  int    `json:"attempts,omitempty"`
	NotForked string `json:"not_forked,omitempty"`
	// Faults counts the page faults of the process until its memory had been read.
	Faults int64  `json:"faults,omitempty"`
	Audit  *Audit `json:"audit,omitempty"` // nil if it was not compared with a later collection
}

// An Audit counts the objects that the next collection of the process found alive, but not the
// scan.
type Audit struct {
	MissedObjects int64         `json:"missed_objects"`
	MissedBytes   int64         `json:"missed_bytes"`
	Waited        time.Duration `json:"waited_ns"` // for that collection
}

// Encode writes the scan as JSON.
func (s *Scan) Encode(w io.Writer) error {
	s.Schema = schema
	return json.NewEncoder(w).Encode(s)
}

// Write writes the scan to a file, as JSON.
func (s *Scan) Write(path string) error {
	var b bytes.Buffer
	if err := s.Encode(&b); err != nil {
		return err
	}
	return wholefile.WriteData(path, 0o666, b.Bytes())
}

// MaxSize bounds the bytes of a report that is read: in memory it takes some 15 times its size.
const MaxSize = 64 << 20

// Read reads what Write wrote.
func Read(path string) (*Scan, error) {
	b, err := wholefile.Read(path, MaxSize)
	if err != nil {
		return nil, err
	}
	return Decode(b, path)
}

// Decode reads what Encode wrote. name is its name in errors.
func Decode(b []byte, name string) (*Scan, error) {
	s := new(Scan)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%s is no report of leakgate scan -json: %w", name, err)
	}
	switch {
	case s.Schema == 0 || s.Report == nil:
		return nil, fmt.Errorf("%s is no report of leakgate scan -json", name)
	case s.Schema != schema:
		return nil, fmt.Errorf("%s has version %d of the form of reports, and this leakgate reads version %d: make both reports with one version of leakgate", name, s.Schema, schema)
	}
	return s, CheckTree(s.Report)
}

var errNode = errors.New("a node of the report is missing")

// CheckTree returns an error if a node of a report's tree is missing, or what is known of a root:
// reports may come from anywhere.
func CheckTree(r *refscan.Report) error {
	var check func(nodes []*refscan.Node) error
	check = func(nodes []*refscan.Node) error {
		for _, n := range nodes {
			if n == nil {
				return errNode
			}
			if err := check(n.Children); err != nil {
				return err
			}
		}
		return nil
	}
	for _, n := range r.Roots {
		if n != nil && n.Root == nil {
			return errNode
		}
	}
	return check(slices.Concat(r.Roots, r.Types, r.Missed))
}
