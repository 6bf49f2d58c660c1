package present

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// Progress shows a go test while it runs: for each package, when it ends, the output of its failed
// tests and a line; the output of compilers, once; and, on a terminal, how far the run is.
type Progress struct {
	screen  *Screen
	verbose bool // also the output of tests that passed
	started time.Time

	assertions func() int

	mu       sync.Mutex // guards the fields below, which the status line reads
	packages int        // of the whole run
	ended    int
	tests    int
	failed   int
	running  map[string]time.Time // tests, by package and name, and when they began
	begun    map[string]time.Time // packages that have not ended
	slowest  string               // the slowest test that has ended
	took     float64              // the time of the slowest test, in seconds
	steps    map[string]step      // what is done for packages, beside the events
	building string               // what compilers are at

	outputs map[string]*packageOutput // of packages that have not ended
	order   []string                  // their import paths, as they began
	builds  map[string]*strings.Builder
	built   []string        // keys of builds, as they began
	shown   map[string]bool // compilers' output without its headings
}

// A step is what is done for a package, until when at most.
type step struct {
	text       string
	since, end time.Time
}

func (s step) String() string {
	text := fmt.Sprintf("%s %.0fs", s.text, time.Since(s.since).Seconds())
	if left := time.Until(s.end); left > 0 {
		text += fmt.Sprintf(", %.0fs left", left.Seconds())
	}
	return text
}

// packageOutput is output of a package that has not been shown yet. The package's own output is
// that of the test "".
type packageOutput struct {
	tests map[string]*testOutput
	order []string // as they began to print
}

// testOutput is a test's output until it ends.
type testOutput struct {
	// the result: "--- FAIL: TestX (0.00s)", or the go command's line for a package
	frame strings.Builder
	text  strings.Builder
}

// NewProgress returns a progress display of a go test over the given number of packages. assertions
// counts the assertions that were made so far, for the status.
func NewProgress(screen *Screen, packages int, verbose bool, assertions func() int) *Progress {
	return &Progress{
		screen: screen, verbose: verbose, assertions: assertions, started: time.Now(), packages: packages,
		running: make(map[string]time.Time), begun: make(map[string]time.Time),
		outputs: make(map[string]*packageOutput),
		steps:   make(map[string]step),
		builds:  make(map[string]*strings.Builder),
		shown:   make(map[string]bool),
	}
}

// Animate keeps the display on a terminal current until stop is called. Where there is no terminal,
// it writes a line to log every interval, so that a reader of CI's output sees that the run goes
// on.
func (p *Progress) Animate(log io.Writer, interval time.Duration) (stop func()) {
	if !p.screen.Live() {
		return repeat(interval, func() {
			p.lookAtBuild()
			_, _ = fmt.Fprintf(log, "leakgate: %s\n", strings.Join(append([]string{p.status(int64(p.assertions()))}, p.details()...), "; "))
		})
	}
	// Counting assertions takes too long to do it whenever the area is drawn.
	var made atomic.Int64
	made.Store(int64(p.assertions()))
	enough := repeat(500*time.Millisecond, func() {
		made.Store(int64(p.assertions()))
		p.lookAtBuild()
	})
	hide := p.screen.Show(p.packages, func() string { return p.status(made.Load()) }, p.details)
	return func() {
		enough()
		hide()
	}
}

// repeat calls work every interval until stop is called. stop waits for a call that is under way.
func repeat(interval time.Duration, work func()) (stop func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				work()
			}
		}
	}()
	return func() {
		close(done)
		<-gone
	}
}

// Step says what is done for a package, and until when at most; "" ends it.
func (p *Progress) Step(pkg, text string, end time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text == "" {
		delete(p.steps, pkg)
	} else {
		p.steps[pkg] = step{text, time.Now(), end}
	}
}

// lookAtBuild finds out what compilers are at, while packages are to begin.
func (p *Progress) lookAtBuild() {
	p.mu.Lock()
	wanted := p.ended+len(p.begun) < p.packages
	p.mu.Unlock()
	building := ""
	if wanted {
		building = gotest.Building()
	}
	p.mu.Lock()
	p.building = building
	p.mu.Unlock()
}

func (p *Progress) status(snapshots int64) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tests == 0 && snapshots == 0 && p.ended == 0 {
		return fmt.Sprintf("packages 0/%d  %.0fs", p.packages, time.Since(p.started).Seconds())
	}
	return fmt.Sprintf("packages %d/%d  tests %d  assertions %d  failed %d  %.0fs",
		p.ended, p.packages, p.tests, snapshots, p.failed, time.Since(p.started).Seconds())
}

// details returns the slowest test so far, what is built, and the test that has been running the
// longest, or the package or the step if no test is known to run.
func (p *Progress) details() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	if p.slowest != "" {
		lines = append(lines, fmt.Sprintf("slowest: %s %.1fs", p.slowest, p.took))
	}
	switch {
	case p.building != "":
		lines = append(lines, "building: "+p.building)
	case len(p.begun)+len(p.steps)+p.tests+p.ended == 0:
		lines = append(lines, "building")
	}
	for _, pkg := range slices.Sorted(maps.Keys(p.steps)) {
		lines = append(lines, p.steps[pkg].String())
	}
	if len(p.steps) > 0 {
		return lines
	}
	if test, took := longest(p.running); test != "" {
		lines = append(lines, fmt.Sprintf("running: %s %.0fs", test, took.Seconds()))
	} else if pkg, took := longest(p.begun); pkg != "" {
		lines = append(lines, fmt.Sprintf("at: %s %.0fs", pkg, took.Seconds()))
	}
	return lines
}

// longest returns the name that began first, and how long ago it began; "" if there is none.
func longest(began map[string]time.Time) (name string, took time.Duration) {
	since := time.Now()
	for n, at := range began {
		if name == "" || at.Before(since) || at.Equal(since) && n < name {
			name, since = n, at
		}
	}
	return name, time.Since(since)
}

// Line shows a line that is not an event.
func (p *Progress) Line(line []byte) { _, _ = p.screen.Write(line) }

// Event takes the next event.
func (p *Progress) Event(ev *gotest.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev.Action {
	case "start":
		p.begun[ev.Package] = time.Now()
	case "run":
		p.tests++
		p.running[ev.Package+"."+ev.Test] = time.Now()
	case "output":
		p.output(ev)
	case "pass", "fail", "skip":
		if ev.Test == "" {
			p.endPackage(ev.Package, ev.Action == "fail")
		} else {
			p.endTest(ev, ev.Action == "fail")
		}
	case "build-output":
		b := p.builds[ev.ImportPath]
		if b == nil {
			b = new(strings.Builder)
			p.builds[ev.ImportPath] = b
			p.built = append(p.built, ev.ImportPath)
		}
		b.WriteString(ev.Output)
	case "build-fail":
		p.showBuild(ev.ImportPath)
	}
}

// Close shows what is left: the output of packages that did not end, and warnings of builds that
// did not fail.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, path := range p.order {
		if p.outputs[path] != nil {
			p.endPackage(path, true)
		}
	}
	for _, id := range p.built {
		p.showBuild(id)
	}
}

func (p *Progress) output(ev *gotest.Event) {
	pkg := p.outputs[ev.Package]
	if pkg == nil {
		pkg = &packageOutput{tests: make(map[string]*testOutput)}
		p.outputs[ev.Package] = pkg
		p.order = append(p.order, ev.Package)
	}
	out := pkg.tests[ev.Test]
	if out == nil {
		out = new(testOutput)
		pkg.tests[ev.Test] = out
		pkg.order = append(pkg.order, ev.Test)
	}
	switch {
	case isNoise(ev):
	case isFrame(ev):
		out.frame.WriteString(ev.Output)
	default:
		out.text.WriteString(ev.Output)
	}
}

// isNoise reports whether the output says only what other events say.
func isNoise(ev *gotest.Event) bool {
	if ev.Test == "" {
		return ev.Output == "PASS\n" || ev.Output == "FAIL\n"
	}
	for _, prefix := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "} {
		if strings.HasPrefix(ev.Output, prefix) {
			return true
		}
	}
	return false
}

// isFrame reports whether the output is the result line of its test or package.
func isFrame(ev *gotest.Event) bool {
	if ev.Test != "" {
		return strings.HasPrefix(strings.TrimLeft(ev.Output, " "), "--- ")
	}
	for _, word := range []string{"ok  ", "FAIL", "?   "} {
		if strings.HasPrefix(ev.Output, word+"\t"+ev.Package) {
			return true
		}
	}
	return false
}

// endTest shows a test's output as "go test" does, under its "--- FAIL" line.
func (p *Progress) endTest(ev *gotest.Event, failed bool) {
	name := ev.Package + "." + ev.Test
	delete(p.running, name)
	if ev.Elapsed > p.took {
		p.slowest, p.took = name, ev.Elapsed
	}
	if failed {
		p.failed++
	}
	pkg := p.outputs[ev.Package]
	if pkg == nil {
		return
	}
	out := pkg.tests[ev.Test]
	delete(pkg.tests, ev.Test)
	if out != nil && (failed || p.verbose) {
		p.print(out.frame.String() + out.text.String())
	}
}

// endPackage shows what tests that did not end have printed, then the package's own output if it
// failed, and last the go command's line for it. A package without tests has no line.
func (p *Progress) endPackage(path string, failed bool) {
	p.ended++
	delete(p.begun, path)
	p.screen.Advance(p.ended)
	for test := range p.running {
		if strings.HasPrefix(test, path+".") && !strings.Contains(test[len(path)+1:], ".") {
			delete(p.running, test) // it ended with its package
		}
	}
	pkg := p.outputs[path]
	delete(p.outputs, path)
	if pkg == nil {
		return
	}
	for _, test := range pkg.order {
		if out := pkg.tests[test]; test != "" && out != nil {
			p.print(out.frame.String() + out.text.String())
		}
	}
	out := pkg.tests[""]
	if out == nil {
		return
	}
	if failed || p.verbose {
		p.print(out.text.String())
	}
	if line := out.frame.String(); !strings.HasPrefix(line, "?") || !strings.HasSuffix(line, "]\n") {
		p.print(line) // not "[no test files]"
	}
}

// print ignores errors: if the user has closed the terminal, the run goes on.
func (p *Progress) print(text string) {
	if text != "" {
		_, _ = io.WriteString(p.screen, text)
	}
}

// showBuild shows the compiler's output for one package ID, unless it has been seen: a package and
// its test variant have the same errors under different headings.
func (p *Progress) showBuild(id string) {
	b := p.builds[id]
	delete(p.builds, id)
	if b == nil {
		return
	}
	var body strings.Builder
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "# ") {
			body.WriteString(line)
		}
	}
	if !p.shown[body.String()] {
		p.shown[body.String()] = true
		p.print(b.String())
	}
}
