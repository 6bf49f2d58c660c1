package runtests

import (
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/isolate"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
)

// A session is one "leakgate run", from the first test to the last report.
type session struct {
	context    *cli.Context
	options    *Options
	invocation *gotest.Invocation
	found      []gotest.Package
	sources    outcome.Sources
	dir        *artifacts.Dir
	display    *present.Display
	progress   *present.Progress // of the tests that run
	report     *outcome.Run
	base       *base // nil without -base
	// of -auto
	autoNotes, autoProblems []string
	isolated                *isolate.Folder // nil without -isolate
	native                  *nativeRun      // nil without -native
}

// close releases what the session has in the file system, except the artifacts.
func (s *session) close() {
	if s.isolated != nil {
		s.isolated.Close()
	}
	if s.native != nil {
		s.native.close()
	}
	s.dir.Close()
}

// beat prints what the session does, if there is no terminal, until it is stopped.
func (s *session) beat(at string) *present.Beat {
	return present.StartBeat(s.display.Screen, s.context.Stderr, progressInterval, at)
}

// progressInterval is how often a run prints its progress if there is no terminal.
const progressInterval = 10 * time.Second

// folders returns the folders of the packages.
func (s *session) folders() []string {
	var dirs []string
	for _, p := range s.found {
		dirs = append(dirs, p.Dir)
	}
	return dirs
}
