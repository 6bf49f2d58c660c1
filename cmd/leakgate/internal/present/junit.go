package present

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// JUnit writes the run as the XML that CI systems read test results from: a suite for each package,
// a case for each test. A regression is a <failure>; what could not be told, did not build or did
// not reach its end is an <error>.
type JUnit struct{}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string         `xml:"name,attr"`
	Classname string         `xml:"classname,attr"`
	Time      string         `xml:"time,attr"`
	Skipped   *junitMessage  `xml:"skipped"`
	Errors    []junitMessage `xml:"error"`
	Failures  []junitMessage `xml:"failure"`
}

type junitMessage struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Present implements Presenter.
func (JUnit) Present(w io.Writer, run *outcome.Run) error {
	all := junitSuites{Name: "leakgate", Time: junitTime(run.ElapsedSeconds)}
	for _, p := range run.Packages {
		s := junitPackage(p)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Suites = append(all.Suites, s)
	}
	if len(run.Problems) > 0 || run.Interrupted {
		s := junitSuite{Name: "leakgate", Time: junitTime(0)}
		texts := run.Problems
		if run.Interrupted {
			texts = append(texts[:len(texts):len(texts)], "interrupted: what was not run is missing")
		}
		c := junitCase{Name: "run", Classname: "leakgate", Time: junitTime(0)}
		for _, text := range texts {
			c.Errors = append(c.Errors, junitText("problem", text, ""))
		}
		s.add(c)
		all.Tests++
		all.Errors++
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// add adds a case and counts it once: as an error, else as a failure, else as skipped.
func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case len(c.Errors) > 0:
		s.Errors++
	case len(c.Failures) > 0:
		s.Failures++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func junitPackage(p *outcome.Package) junitSuite {
	s := junitSuite{Name: p.ImportPath, Time: junitTime(p.ElapsedSeconds)}
	failures := make(map[string]outcome.Failure)
	for _, f := range p.Failures {
		failures[f.Test] = f
	}
	seen := make(map[string]bool)
	for _, test := range p.Cases {
		seen[test.Test] = true
		f, failed := failures[test.Test]
		c := junitCase{Name: test.Test, Classname: p.ImportPath, Time: junitTime(test.ElapsedSeconds)}
		c.judge(p, test.Test, f, failed)
		switch {
		case len(c.Errors)+len(c.Failures) > 0:
		case test.Status == outcome.StatusSkip:
			c.Skipped = &junitMessage{}
		case test.Status == outcome.StatusNone || test.Status == outcome.StatusInterrupted:
			c.Errors = append(c.Errors, junitText("did not end", "the test did not end", ""))
		}
		s.add(c)
	}
	// Assertions of TestMain, and failures of the package as a whole.
	main := junitCase{Name: "TestMain", Classname: p.ImportPath, Time: junitTime(0)}
	whole, failed := failures[""]
	if !seen["TestMain"] {
		main.judge(p, "TestMain", whole, failed && whole.Kind != outcome.KindOther)
	}
	if failed && whole.Kind == outcome.KindOther {
		text := "its tests passed, but the test binary failed"
		if p.Crashed {
			text = crash("the", p)
		}
		main.Errors = append(main.Errors, junitText("package", text, whole.Output))
	}
	if p.Status == outcome.StatusBuildFailed {
		main.Errors = append(main.Errors, junitText("build", "the package does not build", ""))
	}
	if len(main.Errors)+len(main.Failures) > 0 {
		s.add(main)
	}
	return s
}

// judge adds what the assertions of a test found, and its own failure where they do not explain it.
func (c *junitCase) judge(p *outcome.Package, test string, f outcome.Failure, failed bool) {
	for _, a := range p.Assertions {
		if a.Test != test || a.Verdict == verdict.Pass {
			continue
		}
		var texts []string
		kind := "retention"
		for _, finding := range a.Findings {
			texts = append(texts, finding.Text)
			kind = string(finding.Rule)
		}
		m := junitText(kind, strings.Join(texts, "; "), a.Message)
		if a.Verdict == verdict.Unknown || a.Misuse {
			c.Errors = append(c.Errors, m)
		} else {
			c.Failures = append(c.Failures, m)
		}
	}
	if !failed || len(c.Errors)+len(c.Failures) > 0 {
		return
	}
	text := "the test failed"
	if f.Kind == outcome.KindSubtests {
		text = "subtests failed"
	}
	c.Failures = append(c.Failures, junitText(string(f.Kind), text, f.Output))
}

func junitText(kind, message, text string) junitMessage {
	return junitMessage{Type: kind, Message: printable(message), Text: printable(text)}
}

// printable replaces what XML cannot hold and pages cannot show: control characters, such as a
// terminal's colours, and what is not UTF-8.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r >= ' ' && r != utf8.RuneError && r != 0xFFFE && r != 0xFFFF:
			return r
		case r == '\r':
			return -1
		}
		return '?'
	}, text)
}

func junitTime(seconds float64) string { return fmt.Sprintf("%.3f", seconds) }
