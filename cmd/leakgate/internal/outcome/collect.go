package outcome

import (
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// A Collector builds packages from the events of one go test. The zero value is ready. It is not
// safe for concurrent use.
type Collector struct {
	// Lack says for lack of what memory the kernel has killed a process since it was asked last, ""
	// if it has not; nil: that is not known.
	Lack func() string

	packages map[string]*collected
}

// collected is a package while its events come.
type collected struct {
	Package
	order  []string // tests, as they first ran
	tests  map[string]*test
	output outputTail // printed outside of tests
	// the test binary printed PASS or FAIL, which is the last thing that testing.M.Run does
	finished bool
	last     string // test of the last event
}

// test is a test while its events come.
type test struct {
	status  Status
	elapsed float64
	output  outputTail
}

// Observe takes the next event. A failure while interrupted is set is caused by the signal, and
// does not count as a failure.
func (c *Collector) Observe(ev *gotest.Event, interrupted bool) {
	if ev.Package == "" {
		return
	}
	p := c.pkg(ev.Package)
	if c.Lack != nil && ev.Action == "output" && ev.Output == killedLine && !interrupted {
		p.Lack = c.Lack()
	}
	if ev.Test == "" {
		p.observe(ev, interrupted)
		return
	}
	t := p.test(ev.Test)
	p.last = ev.Test
	switch ev.Action {
	case "run":
		if t.status != StatusFail {
			t.output = outputTail{}
		}
	case "output":
		if t.status != StatusFail && !isFraming(ev.Output) {
			t.output.add(ev.Output)
		}
	case "pass", "skip", "fail":
		status := Status(ev.Action)
		if interrupted && status == StatusFail {
			status = StatusInterrupted
		}
		t.elapsed += ev.Elapsed
		// With -count a test ends several times: the worst status counts.
		if t.status != StatusFail {
			t.status = status
		}
		if t.status != StatusFail {
			t.output = outputTail{}
		}
	}
}

// Ran observes what go test would have reported about a package with one test, which leakgate ran
// itself.
func (c *Collector) Ran(pkg, test string, output []string, failed bool, took time.Duration) {
	end, last := "pass", "PASS\n"
	if failed {
		end, last = "fail", "FAIL\n"
	}
	events := []gotest.Event{{Action: "run", Test: test}}
	for _, text := range output {
		events = append(events, gotest.Event{Action: "output", Test: test, Output: text})
	}
	events = append(events, gotest.Event{Action: end, Test: test}, gotest.Event{Action: "output", Output: last}, gotest.Event{Action: end})
	for _, ev := range events {
		ev.Package, ev.Elapsed = pkg, took.Seconds()
		c.Observe(&ev, false)
	}
}

// killedLine is what go test prints where SIGKILL ended a test binary.
const killedLine = "signal: killed\n"

// Idle returns the packages whose test binaries passed without running package testing's part, such
// as where TestMain ends the process at once. A binary in which -run matches no test is none.
func (c *Collector) Idle() []string {
	var idle []string
	for path, p := range c.packages {
		if p.Status == StatusPass && !p.finished && len(p.order) == 0 {
			idle = append(idle, path)
		}
	}
	slices.Sort(idle)
	return idle
}

func (c *Collector) pkg(path string) *collected {
	p := c.packages[path]
	if p == nil {
		p = &collected{Package: Package{ImportPath: path}, tests: make(map[string]*test)}
		if c.packages == nil {
			c.packages = make(map[string]*collected)
		}
		c.packages[path] = p
	}
	return p
}

// observe takes an event of the package as a whole.
func (p *collected) observe(ev *gotest.Event, interrupted bool) {
	switch ev.Action {
	case "output":
		// A binary that a panic, os.Exit or a signal ends prints neither; the go command's own last
		// line has more than the word (go1.26 testing/testing.go, M.Run).
		if ev.Output == "PASS\n" || ev.Output == "FAIL\n" {
			p.finished = true
		} else {
			p.output.add(ev.Output)
		}
		// With GODEBUG=gotestjsonbuildtext=1 this line is the only sign of a failed build.
		if strings.HasPrefix(ev.Output, "FAIL\t") && (strings.HasSuffix(ev.Output, "[build failed]\n") || strings.HasSuffix(ev.Output, "[setup failed]\n")) {
			p.Status = StatusBuildFailed
		}
	case "pass", "skip", "fail":
		p.ElapsedSeconds = ev.Elapsed
		switch {
		case ev.Action == "fail" && interrupted:
			p.Status = StatusInterrupted
		case ev.FailedBuild != "" || p.Status == StatusBuildFailed:
			p.Status = StatusBuildFailed
		default:
			p.Status = Status(ev.Action)
		}
	}
}

// test returns a test of p, and adds it if it is new.
func (p *collected) test(name string) *test {
	t := p.tests[name]
	if t == nil {
		t = new(test)
		p.tests[name] = t
		p.order = append(p.order, name)
	}
	return t
}

// failed reports whether test failed.
func (p *collected) failed(name string) bool {
	t := p.tests[name]
	return t != nil && t.status == StatusFail
}

func (p *collected) subtestFailed(test string) bool {
	return slices.ContainsFunc(p.order, func(sub string) bool {
		return strings.HasPrefix(sub, test+"/") && p.failed(sub)
	})
}
