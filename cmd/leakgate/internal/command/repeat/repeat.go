// Package repeat is the command that repeats a command against a running process, and finds what
// grows there with each call.
package repeat

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck"
)

// A run is one "leakgate repeat".
type run struct {
	context *cli.Context
	options *Options
	display *present.Display
	dir     *artifacts.Dir
	base    *outcome.Run // nil without -base
	started time.Time
	report  *outcome.Run
}

// Repeat is the command "leakgate repeat".
func Repeat(c *cli.Context, args []string) int {
	o, err := Parse(args)
	if err != nil {
		return c.Unparsed(err, "repeat")
	}
	r := &run{context: c, options: o, display: present.OpenDisplay(c.Stdout, c.Env), started: time.Now()}
	if o.base != "" {
		if r.base, err = outcome.Read(o.base); err != nil {
			return c.Failure("-base: %v", err)
		}
	}
	if r.dir, err = artifacts.Open(o.artifacts); err != nil {
		return c.Failure("%v", err)
	}
	defer r.dir.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends this process at once
	code, err := r.judge(ctx)
	if err != nil {
		return failed(c, err)
	}
	return code
}

// A commandError is why the command, or what was started, failed.
type commandError struct{ error }

func (e commandError) Unwrap() error { return e.error }

// failed prints why there is no report, and returns the exit code.
func failed(c *cli.Context, err error) int {
	c.Failure("%v", err)
	switch {
	case errors.As(err, new(commandError)):
		return outcome.ExitCode(outcome.TestFailure)
	case errors.Is(err, context.Canceled):
		return cli.Unknown
	}
	return cli.Usage
}

// judge starts the server if it has to, repeats the command, and reports.
func (r *run) judge(ctx context.Context) (int, error) {
	o := r.options
	line := strings.Join(o.command, " ")
	beat := present.StartBeat(r.display.Screen, r.context.Stderr, beatInterval, "repeating "+line)
	defer beat.Stop()
	pid := o.pid
	if o.start != "" {
		s, err := startServer(o.start, r.context.Env)
		if err != nil {
			return 0, commandError{fmt.Errorf("-start: %w", err)}
		}
		defer s.stop()
		beat.At("waiting for " + o.start)
		limited, cancel := context.WithTimeout(ctx, o.timeout)
		err = s.await(limited, o.ready)
		cancel()
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil:
			return 0, commandError{err}
		}
		beat.At("repeating " + line)
		pid = s.pid()
	}
	program, goVersion := o.url, ""
	if o.url == "" {
		var err error
		if program, goVersion, err = programOf(pid); err != nil {
			return 0, err
		}
	}
	t := &test{ctx: ctx, deadline: time.Now().Add(o.timeout)}
	r.assert(t, pid)
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("interrupted: nothing is known: %w", ctx.Err())
	case t.broken != nil:
		return 0, commandError{fmt.Errorf("the command failed: %w", t.broken)}
	}
	r.conclude(t, program, goVersion)
	beat.At("writing the report")
	head := append([]string{"op is a call of: " + line}, r.indented(t.errors, t.logs)...)
	return r.report.ExitCode, r.present(strings.Join(head, "\n"))
}

// beatInterval is how often the command says what it does, if there is no terminal.
const beatInterval = 10 * time.Second

// programOf returns the import path of the program that a process runs, or the name of its file,
// and its Go version, "" if that is not known.
func programOf(pid int) (path, goVersion string, err error) {
	link := fmt.Sprintf("/proc/%d/exe", pid)
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
		return "", "", fmt.Errorf("there is no process %d", pid)
	}
	file, err := os.Readlink(link)
	if err != nil {
		return fmt.Sprintf("process %d", pid), "", nil // the assertion says which right is missing
	}
	path = filepath.Base(strings.TrimSuffix(file, " (deleted)"))
	if info, err := buildinfo.ReadFile(link); err == nil {
		goVersion = info.GoVersion
		if info.Path != "" && info.Path != "command-line-arguments" {
			path = info.Path
		}
	}
	return path, goVersion, nil
}

// assert makes the assertion, which leaves its record in the artifacts directory.
func (r *run) assert(t *test, pid int) {
	for _, v := range []string{envvar.Strict.Set("1"), envvar.Artifacts.Set(r.dir.Records())} {
		name, value, _ := strings.Cut(v, "=")
		_ = os.Setenv(name, value)
	}
	var process leakcheck.GrowthOption = leakcheck.InProcess(pid).Executable(r.options.exe).Calls(r.options.calls)
	if r.options.url != "" {
		process = leakcheck.InReports("the process at "+r.options.url, r.options.calls, endpoint(r.options.url).look)
	}
	leakcheck.AssertNoGrowth(t, func() { t.call(r.options.command, r.context.Env) }, process)
}

// conclude makes the report.
func (r *run) conclude(t *test, program, goVersion string) {
	o := r.options
	here, _ := os.Getwd()
	r.report = &outcome.Run{
		Schema: outcome.Schema, Leakgate: cli.Version(), GoVersion: goVersion, Command: append([]string{"leakgate", "repeat"}, os.Args[min(2, len(os.Args)):]...),
		ElapsedSeconds: time.Since(r.started).Seconds(),
	}
	end := outcome.Ending{GoFailed: t.failed, Sources: outcome.FindSources(here, map[string]string{program: here})}
	end.Records, end.Problems = r.dir.Gather(o.artifacts, cli.Release())
	for i := range end.Records {
		end.Records[i].Result.Package, end.Records[i].Result.Test = program, testName
	}
	var c outcome.Collector
	c.Ran(program, testName, r.indented(t.logs, t.errors), t.failed, time.Since(r.started))
	c.Conclude(r.report, end)
	if r.base != nil {
		r.report.Base = &outcome.Base{Name: o.base}
		compare.AgainstRoots(r.report, r.base)
		r.report.Excuse()
	}
}

// indented returns texts of the assertion as go test prints them.
func (r *run) indented(lists ...[]string) (texts []string) {
	for _, text := range slices.Concat(lists...) {
		texts = append(texts, textfmt.IndentText(r.dir.Shorten(text, r.options.artifacts)))
	}
	return texts
}

// present writes the report in all its forms. If one cannot be written, the others still are.
func (r *run) present(head string) error {
	var json present.Presenter = present.JSON{}
	unwritten := r.dir.WriteReport(func(w io.Writer) error { return json.Present(w, r.report) })
	unwritten = errors.Join(unwritten, page.WriteInto(r.dir, r.report, "", r.context.Env))
	summary := present.Summary{Artifacts: r.options.artifacts, Page: filepath.Join(r.options.artifacts, artifacts.PageName), Color: r.display.Color}
	text := func() error {
		fmt.Fprintln(r.display.Screen, head)
		return summary.Present(r.display.Screen, r.report)
	}
	return errors.Join(unwritten, r.options.formats.Show(r.report, "", r.context.Env, r.display.Screen, text))
}
