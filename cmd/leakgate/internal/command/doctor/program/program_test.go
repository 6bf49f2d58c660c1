package program

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
	"github.com/leakgate/leakgate/refscan"
)

// resultFile is the file in which the command reads the result.
var resultFile = flag.String("result", "", "write what was found to this file, as JSON")

// payloads is the number of objects that kept holds.
const payloads = 1000

// payload is an object of 64 bytes with a pointer.
type payload struct {
	_    *payload
	data [7]uint64
}

var (
	kept  []*payload // what a scan has to find
	grown []*payload // has one more with each call of leak
)

// leak leaves a payload behind, use does not.
func leak() { grown = append(grown, &payload{data: [7]uint64{1}}) }
func use()  { grown = append(grown[:0], &payload{data: [7]uint64{2}}) }

// self collects the result.
type self struct{ Result }

func (s *self) wrong(format string, args ...any) {
	s.Wrong = append(s.Wrong, fmt.Sprintf(format, args...))
}

func (s *self) unknown(err error) { s.Unknown = append(s.Unknown, err.Error()) }

// TestSelf is one test, since each step depends on the steps before it.
func TestSelf(t *testing.T) {
	s := new(self)
	kept = nil
	for range payloads {
		kept = append(kept, &payload{data: [7]uint64{3}})
	}
	s.scan()
	s.find(true)
	kept = nil
	s.find(false)
	s.growth(t, leak, true)
	s.growth(t, use, false)

	for _, problem := range append(s.Wrong, s.Unknown...) {
		t.Error(problem)
	}
	if *resultFile == "" {
		return
	}
	line, err := json.Marshal(s.Result)
	if err == nil {
		err = os.WriteFile(*resultFile, line, 0o666)
	}
	if err != nil {
		t.Error(err)
	}
}

// scan takes two snapshots, and counts the payloads below their variable in the first.
func (s *self) scan() {
	start := time.Now()
	first, err := refscan.Capture(refscan.WithLog(func(format string, args ...any) {
		s.Log = append(s.Log, fmt.Sprintf(format, args...))
	}))
	if err != nil {
		s.unknown(err)
		return
	}
	s.Capture, s.Pause, s.Settled = time.Since(start), first.Pause(), first.Settled()
	start = time.Now()
	report, err := first.Scan()
	if err = errors.Join(err, first.Close()); err != nil {
		s.unknown(err)
		return
	}
	s.Scan, s.NotForked = time.Since(start), report.NotForked
	s.Live, s.Missed, s.Extra = report.Totals.LiveObjects, report.Totals.MissedObjects, report.Totals.ExtraBytes
	if s.Extra != 0 {
		s.wrong("the scan reached %d bytes that are not alive", s.Extra)
	}
	if n := below(report, ".kept"); n != payloads {
		s.wrong("%d of %d objects were found at the variable kept", n, payloads)
	}
	start = time.Now()
	second, err := refscan.Capture()
	s.Again = time.Since(start)
	if err == nil {
		err = second.Close()
	}
	if err != nil {
		s.unknown(err)
	}
}

// below counts the payloads below the root whose name ends in suffix.
func below(report *refscan.Report, suffix string) int64 {
	var count func(n *refscan.Node) int64
	count = func(n *refscan.Node) int64 {
		sum := int64(0)
		if strings.HasPrefix(n.Type, "*") && strings.HasSuffix(n.Type, ".payload") {
			sum = n.Objects
		}
		for _, c := range n.Children {
			sum += count(c)
		}
		return sum
	}
	for _, root := range report.Roots {
		if strings.HasSuffix(root.Name, suffix) {
			return count(root)
		}
	}
	return 0
}

// find looks for payloads by type, and expects them at their variable, or expects none.
func (s *self) find(there bool) {
	err := leakcheck.Find(leakcheck.Type[*payload]().None())
	var unknown *leakcheck.UnknownError
	switch {
	case errors.As(err, &unknown):
		s.unknown(err)
	case there && (err == nil || !strings.Contains(err.Error(), "program.kept")):
		s.wrong("a bound by type did not find the objects at the variable kept: %v", err)
	case !there && err != nil:
		s.wrong("a bound by type found objects that are not there any more: %v", err)
	}
}

// growth calls op with AssertNoGrowth.
func (s *self) growth(t *testing.T, op func(), leaks bool) {
	grown = nil
	seen := &recorder{t: t}
	leakcheck.AssertNoGrowth(seen, op)
	grown = nil
	switch {
	case strings.Contains(seen.text, "UNKNOWN"):
		s.Unknown = append(s.Unknown, seen.text)
	case leaks && !strings.Contains(seen.text, "program.grown"):
		s.wrong("AssertNoGrowth did not find what grows at the variable grown: %s", seen.text)
	case !leaks && seen.text != "":
		s.wrong("AssertNoGrowth found growth where there is none: %s", seen.text)
	}
}

// recorder takes the messages of an assertion in place of the test.
type recorder struct {
	t    *testing.T
	text string
}

// Helper, Logf and Errorf make it a leakcheck.TestingT.
func (r *recorder) Helper() {}

func (r *recorder) Logf(format string, args ...any) { r.t.Logf(format, args...) }

func (r *recorder) Errorf(format string, args ...any) { r.text += fmt.Sprintf(format, args...) }
