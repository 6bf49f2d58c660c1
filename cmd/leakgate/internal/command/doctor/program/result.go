// Package program is a test with known leaks, which reports what leakgate found of them. The
// command builds it in a module of its own.
package program

import (
	"embed"
	"time"
)

// Sources are the files of this package.
//
//go:embed *.go
var Sources embed.FS

// Result has what leakgate found, and how long it took.
type Result struct {
	// Wrong are verdicts that are not what they have to be, Unknown those that could not be told.
	Wrong   []string `json:"wrong,omitempty"`
	Unknown []string `json:"unknown,omitempty"`

	NotForked string        `json:"not_forked,omitempty"` // as in refscan.Report
	Log       []string      `json:"log,omitempty"`        // what took long
	Pause     time.Duration `json:"pause_ns"`             // of the program
	Settled   time.Duration `json:"settled_ns"`           // wait for the program to settle
	Capture   time.Duration `json:"capture_ns"`           // in all, with debug information to find or to build
	Again     time.Duration `json:"again_ns"`             // a second capture, in all
	Scan      time.Duration `json:"scan_ns"`
	Live      int64         `json:"live_objects"`
	Missed    int64         `json:"missed_objects"` // alive, and not reached
	Extra     int64         `json:"extra_bytes"`    // reached, and not alive
}
