// Package gotest runs the go command's tests with debug information and reads their event stream.
package gotest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// An Event is one line of the stream of "go test -json", as "go doc test2json" and "go help
// buildjson" describe it. Unknown fields are ignored, so that a newer go command can be read.
type Event struct {
	// "start", "run", "output", "pass", "fail", "skip", ..., "build-output", "build-fail"
	Action      string
	Package     string  // import path; "" in build events
	Test        string  // "" in events of the package as a whole
	Elapsed     float64 // seconds; in "pass" and "fail"
	Output      string  // in "output" and "build-output"
	OutputType  string  // Go 1.27: "frame", "error", "error-continue" or ""
	FailedBuild string  // in "fail": the ImportPath of the build that failed
	ImportPath  string  // in build events: the package ID, such as "p [p.test]"
}

// Read calls handle for each line of r, with the line as it is and, if it is an event, the event;
// ev is nil for a line that is not one. It returns the first error of r or of handle, and nil at
// the end of r. Lines may have any length.
func Read(r io.Reader, handle func(line []byte, ev *Event) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := br.ReadBytes('\n')
		if len(line) > 0 {
			if herr := handle(line, parse(line)); herr != nil {
				return herr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// parse returns the event that line holds, or nil.
func parse(line []byte) *Event {
	if !bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("{")) {
		return nil
	}
	var ev Event
	if json.Unmarshal(line, &ev) != nil || ev.Action == "" {
		return nil
	}
	return &ev
}
