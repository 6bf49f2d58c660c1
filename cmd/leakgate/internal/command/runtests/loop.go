package runtests

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/goldenset"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
)

// run runs the tests as often as was asked for, and reports.
func (s *session) run() error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	before, err := goldenset.ReadSet(s.folders())
	if err != nil {
		return err
	}
	resume := func() {}
	if s.options.formats.OnGitHub(s.context.Env) {
		resume = present.StopCommands(s.display.Screen)
	}
	defer resume()
	measured := make(goldenset.Measured)
	for n := 1; n <= s.options.runs; n++ {
		if s.options.runs > 1 {
			fmt.Fprintf(s.display.Screen, "run %d of %d\n", n, s.options.runs)
		}
		if n > 1 {
			if err := s.dir.Reset(); err != nil {
				return err
			}
		}
		if err := s.test(signals); err != nil {
			return err
		}
		if s.options.runs > 1 {
			if err := s.measure(measured); err != nil {
				return err
			}
		}
		if s.report.Outcome != outcome.Pass {
			break
		}
	}
	switch {
	case s.options.runs == 1:
		s.noteChanges(before)
	case s.report.Outcome == outcome.Pass:
		err = s.calibrate(measured)
	default:
		s.report.Notes = append(s.report.Notes, "no golden file was written, since not all runs passed")
	}
	if err != nil {
		return err
	}
	return s.present(resume)
}

// lackOfMemory returns a function that says for lack of what memory the kernel has killed a process
// since the last call, or since lackOfMemory was called; "" if it has not.
func lackOfMemory() func() string {
	var system headroom.System
	before := system.Kills()
	return func() string {
		last := before
		if before = system.Kills(); before > last {
			return system.Tightest()
		}
		return ""
	}
}

// test runs go test once, and draws the conclusions from its results.
func (s *session) test(signals <-chan os.Signal) error {
	collector := outcome.Collector{Lack: lackOfMemory()}
	var interrupted atomic.Bool
	progress := present.NewProgress(s.display.Screen, len(s.invocation.Packages), s.options.verbose, s.dir.Count)
	s.progress = progress
	stop := progress.Animate(s.context.Stderr, progressInterval)
	started := time.Now()
	run := func(onSignal func(), handle func(line []byte, ev *gotest.Event) error) (gotest.Exit, error) {
		return s.invocation.Start(s.display.Beside(s.context.Stderr), signals, onSignal, handle)
	}
	if s.options.auto.on {
		run = func(onSignal func(), handle func(line []byte, ev *gotest.Event) error) (gotest.Exit, error) {
			return s.repeatTests(signals, onSignal, handle)
		}
	}
	exit, err := run(func() { interrupted.Store(true) }, func(line []byte, ev *gotest.Event) error {
		if ev == nil {
			progress.Line(line)
		} else {
			ev.Output = s.dir.Shorten(ev.Output, s.options.artifactsPath())
			collector.Observe(ev, interrupted.Load())
			progress.Event(ev)
		}
		if s.options.json {
			if _, err := s.context.Stdout.Write(line); err != nil {
				return fmt.Errorf("writing the event stream: %w", err)
			}
		}
		return nil
	})
	progress.Close()
	stop()
	if err != nil {
		return err
	}
	defer s.beat("gathering what assertions left").Stop()

	s.report.Notes = s.autoNotes
	if s.isolated != nil {
		s.report.Notes = append(s.report.Notes, isolationNote(s.isolated, time.Since(started)))
	}
	if s.native != nil {
		s.report.Notes = append(s.report.Notes, s.native.notes(len(s.found))...)
	}
	s.report.ElapsedSeconds += time.Since(started).Seconds()
	end := outcome.Ending{GoFailed: exit.Code != 0, Interrupted: exit.Interrupted, Sources: s.sources}
	end.Records, end.Problems = s.dir.Gather(s.options.artifactsPath(), cli.Release())
	end.Problems = append(end.Problems, s.autoProblems...)
	end.Problems = append(end.Problems, s.dir.CorrectHeaps(end.Records)...)
	note, err := s.dir.Limit(end.Records, s.options.keep.limits())
	if err != nil {
		end.Problems = append(end.Problems, err.Error())
	}
	if note != "" {
		s.report.Notes = append(s.report.Notes, note)
	}
	collector.Conclude(s.report, end)
	idle := collector.Idle()
	switch {
	case s.report.Outcome == outcome.Nothing:
		s.report.Notes = append(s.report.Notes, nothingRan)
	case len(idle) > 0:
		s.report.Notes = append(s.report.Notes, "no test ran, since TestMain does not call m.Run: "+strings.Join(idle, ", "))
	}
	if s.base != nil {
		s.base.judge(s.report, s.options.auto.on)
	}
	return nil
}

// nothingRan is the note if tests ran and none called leakcheck.
const nothingRan = "no test that ran calls leakcheck: look at -run, at tests that were skipped, and at a TestMain that does not call m.Run"

// present writes the report in all its forms. If one cannot be written, the others still are.
// resume is called before the output that GitHub Actions reads.
func (s *session) present(resume func()) error {
	beat := s.beat("writing the report")
	defer beat.Stop()
	var json present.Presenter = present.JSON{}
	unwritten := s.dir.WriteReport(func(w io.Writer) error { return json.Present(w, s.report) })
	unwritten = errors.Join(unwritten, page.WriteInto(s.dir, s.report, s.options.dir, s.context.Env))
	summary := present.Summary{Artifacts: s.options.artifactsPath(), Page: filepath.Join(s.options.artifactsPath(), artifacts.PageName), Color: s.display.Color, Verbose: s.options.verbose}
	if err := summary.Present(s.display.Screen, s.report); err != nil {
		return err
	}
	resume()
	return errors.Join(unwritten, s.options.formats.Write(s.report, s.options.dir, s.context.Env, s.display.Screen))
}
