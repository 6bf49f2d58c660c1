package present

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
)

// Formats say in which forms that CI systems read a run is written, beside leakgate.json and the
// summary.
type Formats struct {
	junit, sarif, markdown string // files
	github                 string // -github
}

// Values of -github.
const (
	githubAuto = "auto"
	githubOn   = "on"
	githubOff  = "off"
)

// Register adds the flags that set the options.
func (o *Formats) Register(f *flag.FlagSet) {
	f.StringVar(&o.github, "github", githubAuto, "")
	f.StringVar(&o.junit, "junit", "", "")
	f.StringVar(&o.markdown, "markdown", "", "")
	f.StringVar(&o.sarif, "sarif", "", "")
}

// Check returns an error if the value of -github is not known, or two forms are to be in one file.
func (o *Formats) Check() error {
	switch o.github {
	case githubAuto, githubOn, githubOff:
	default:
		return fmt.Errorf("-github %s: it is auto, on or off", o.github)
	}
	named := make(map[string]string) // flags by file
	for _, f := range []struct{ name, file string }{{"-junit", o.junit}, {"-markdown", o.markdown}, {"-sarif", o.sarif}} {
		if f.file == "" {
			continue
		}
		file := filepath.Clean(f.file)
		if other := named[file]; other != "" {
			return fmt.Errorf("%s and %s name the same file, %s: only one of the two would be in it", other, f.name, f.file)
		}
		named[file] = f.name
	}
	return nil
}

// OnGitHub reports whether GitHub Actions reads what is printed.
func (o *Formats) OnGitHub(env []string) bool {
	return o.github == githubOn || o.github == githubAuto && cli.Lookup(env, "GITHUB_ACTIONS") == "true"
}

// Show has text written to w, then writes run in its other forms, as Write does. GitHub Actions
// takes nothing in the text for a command.
func (o *Formats) Show(run *outcome.Run, dir string, env []string, w io.Writer, text func() error) error {
	resume := func() {}
	if o.OnGitHub(env) {
		resume = StopCommands(w)
	}
	err := text()
	resume()
	return errors.Join(err, o.Write(run, dir, env, w))
}

// Write writes run to the files, which are relative to dir, and, in GitHub Actions, annotations to
// w and the step's summary. If one fails, it still writes the others.
func (o *Formats) Write(run *outcome.Run, dir string, env []string, w io.Writer) error {
	var errs []error
	for _, form := range []struct {
		file      string
		presenter Presenter
	}{
		{o.junit, JUnit{}},
		{o.sarif, SARIF{}},
		{o.markdown, Markdown{Size: CommentSize}},
	} {
		if form.file != "" {
			errs = append(errs, writePresented(under(dir, form.file), form.presenter, run))
		}
	}
	if o.OnGitHub(env) {
		errs = append(errs, Annotations{}.Present(w, run))
		if summary := cli.Lookup(env, "GITHUB_STEP_SUMMARY"); summary != "" {
			errs = append(errs, appendSummary(summary, run))
		}
	}
	return errors.Join(errs...)
}

// under returns the path of a file that is named relative to dir.
func under(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// writePresented writes a file as a whole, with the folders above it.
func writePresented(file string, p Presenter, run *outcome.Run) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", file, err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return cli.WriteFile(file, func(w io.Writer) error { return p.Present(w, run) })
}

// appendSummary adds the run to the step's summary, in the room that is left there.
func appendSummary(file string, run *outcome.Run) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("the step's summary: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		room := StepSummarySize - int(info.Size())
		if room >= SmallestPage {
			err = Markdown{Size: room}.Present(f, run)
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the step's summary: %w", err)
	}
	return nil
}
