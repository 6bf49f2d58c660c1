package present

import (
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
)

// maxAnnotations is how many annotations of one kind GitHub takes from a step.
const maxAnnotations = 10

// Annotations writes workflow commands of GitHub Actions, which show what is wrong beside the line
// in a pull request: errors for what fails, warnings for what could not be told. Where there are
// more than ten of a kind, the tenth says how many are left out.
type Annotations struct{}

type annotation struct {
	title, text, file string
	line              int
}

// Present implements Presenter.
func (Annotations) Present(w io.Writer, run *outcome.Run) error {
	var errors, warnings []annotation
	seen := make(map[string]bool)
	each(run, func(p *outcome.Package, a *outcome.Assertion) {
		for _, f := range a.Findings {
			if seen[f.Fingerprint] {
				continue
			}
			seen[f.Fingerprint] = true
			n := annotation{p.ImportPath + "." + a.Test, f.Text, f.File, f.Line}
			if f.Rule == outcome.RuleUnknown {
				warnings = append(warnings, n)
			} else {
				errors = append(errors, n)
			}
		}
	})
	for _, p := range run.Packages {
		if p.Status == outcome.StatusBuildFailed {
			errors = append(errors, annotation{title: p.ImportPath, text: "the package does not build"})
		}
		for _, f := range p.Failures {
			if f.Kind == outcome.KindOther {
				errors = append(errors, annotation{title: strings.TrimSuffix(p.ImportPath+"."+f.Test, "."), text: "failed for other reasons than what it retains"})
			}
		}
	}
	for _, text := range run.Problems {
		warnings = append(warnings, annotation{title: "leakgate", text: text})
	}
	var b strings.Builder
	annotate(&b, "error", errors)
	annotate(&b, "warning", warnings)
	_, err := io.WriteString(w, b.String())
	return err
}

func annotate(b *strings.Builder, kind string, all []annotation) {
	for i, a := range all {
		if i == maxAnnotations-1 && len(all) > maxAnnotations {
			a = annotation{title: "leakgate", text: fmt.Sprintf("%d more are not shown here: see the step's summary", len(all)-i)}
		}
		properties := "title=" + commandProperty(a.title)
		if a.file != "" {
			properties = fmt.Sprintf("file=%s,line=%d,%s", commandProperty(a.file), max(a.line, 1), properties)
		}
		fmt.Fprintf(b, "::%s %s::%s\n", kind, properties, commandData(a.text))
		if i == maxAnnotations-1 {
			return
		}
	}
}

// StopCommands makes GitHub Actions ignore workflow commands that are written to w until resume is
// called: output of tests and programs might look like a command. The token that resume writes is
// random, so that such output cannot resume. resume may be called again.
func StopCommands(w io.Writer) (resume func()) {
	token := rand.Text()
	var once sync.Once
	_, _ = fmt.Fprintf(w, "::stop-commands::%s\n", token)
	return func() { once.Do(func() { _, _ = fmt.Fprintf(w, "::%s::\n", token) }) }
}

// commandData and commandProperty escape what ends a workflow command, or a property of it. They
// also escape what a terminal may take for a command: the log shows annotations, too. A property is
// one line.
func commandData(s string) string { return encode(cli.PlainText(s)) }

func commandProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(encode(cli.PlainLine(s)))
}

// encode encodes what a workflow command cannot have in it.
func encode(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}
