package alloc

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// Figures in golden files are whole allocations of one call, as testing.AllocsPerRun has them.
// Written figures are rounded up from further below than compared ones, so that a mean near a whole
// number does not fail now and then: to exceed a written figure, the mean has to rise by a quarter
// at least.
const (
	comparedUp = 0.05
	writtenUp  = 0.3
)

// opPath is the path of the lines of a golden file that name types. Other paths name the objects
// themselves.
const opPath = "op"

// lines returns the recording as lines of a golden file.
func (r *recording) lines(up float64) []golden.Measurement {
	var all []golden.Measurement
	for _, n := range r.rows {
		objects := n.perCall(r.calls, up)
		if n.runtime || objects == 0 {
			continue
		}
		path, typ := n.goldenPlace()
		size := n.steadySize(r.calls, objects, up)
		m := golden.Measurement{Path: path, Type: typ, Objects: objects, Bytes: objects * size}
		if size == 0 {
			m.Bytes, m.BytesTolerance = n.bytes/int64(r.calls), tree.OneStep
		}
		all = append(all, m)
	}
	return all
}

// perCall is how many objects one call allocates, as a whole number.
func (r *row) perCall(calls int, up float64) int64 {
	return int64(float64(r.objects)/float64(calls) + up)
}

// steadySize is the size of the objects that each call allocates, 0 if they differ in size. Objects
// of other sizes that only some calls allocate do not matter: a stray object would make another
// line of the golden file.
func (r *row) steadySize(calls int, objects int64, up float64) int64 {
	for size, n := range r.sizes {
		if one := (&row{objects: n}).perCall(calls, up); one > 0 {
			if one == objects {
				return size
			}
			return 0
		}
	}
	return 0
}

func (r *row) goldenPlace() (path, typ string) {
	if r.typed {
		return opPath, r.name
	}
	return r.line, ""
}

// judgeGolden compares the allocations of op with the test's golden file.
func (x *experiment) judgeGolden(first *recording) (*assertion.Outcome, error) {
	// The standard library decides much of what op allocates, so figures differ between Go
	// versions.
	minor, ok := symbol.GoMinor(runtime.Version())
	if !ok {
		return assertion.Misuse("AssertAllocs has no bound, and golden files are by Go version, which %q is none of; give bounds", runtime.Version()), nil
	}
	file, err := assertion.GoldenFile(x.T, x.Test, "", fmt.Sprintf("~go1.%d", minor))
	if err != nil {
		return assertion.Misuse("%v\n%s", err, strings.Join(withoutBounds(first), "\n")), nil
	}
	c, err := check.OpenGolden(x.Env, file)
	if err != nil {
		return x.WithoutGolden(err), nil
	}
	if !c.Ok() && c.File == nil {
		o := x.MissingGolden(c)
		o.Message += "\n\n" + strings.Join(textfmt.Indent(withoutBounds(first)), "\n")
		return o, nil
	}
	up := comparedUp
	if c.Write || c.MeasureOnly {
		up = writtenUp
	}
	c.Compare(first.lines(up))
	within := c.Ok() && !c.Writing() && !c.MeasureOnly
	if within && !first.unsure() {
		return x.withinGolden(c, first), nil
	}
	if RaceDetector && !within {
		return nil, atRandom("what op allocates differs from " + c.Shown + ", or is to be written there")
	}
	second, err := x.record()
	switch {
	case err != nil:
		return nil, err
	case second.unsure():
		return nil, second.sizesUnknown()
	case c.Write || c.MeasureOnly:
		lines := second.lines(up)
		if !first.unsure() {
			lines = largest(first.lines(up), lines)
		}
		c.Compare(lines)
		o := x.withinGolden(c, second)
		if c.Write {
			x.WriteGolden(o, c)
		}
		return o, nil
	}
	c.Compare(second.lines(up))
	switch {
	case len(c.Failures) == 0:
		return x.withinGolden(c, second), nil
	case RaceDetector:
		return nil, atRandom("what op allocates differs from " + c.Shown)
	}
	return x.beyondGolden(c, second), nil
}

// atRandom is the error if allocations that were counted with -race cannot be held against op.
func atRandom(seen string) error {
	return &untoldError{refscan.UnavailableError{
		Cause:  "with -race, a sync.Pool loses at random what is put into it (sync/pool.go), so that op may allocate more than without: " + seen,
		Remedy: "run this test without -race",
	}}
}

// largest returns the larger figures of two recordings.
func largest(a, b []golden.Measurement) []golden.Measurement {
	type place struct{ path, typ string }
	at := make(map[place]int)
	for i, m := range a {
		at[place{m.Path, m.Type}] = i
	}
	for _, m := range b {
		i, known := at[place{m.Path, m.Type}]
		if !known {
			a = append(a, m)
			continue
		}
		a[i].Objects, a[i].Bytes = max(a[i].Objects, m.Objects), max(a[i].Bytes, m.Bytes)
		a[i].BytesTolerance = max(a[i].BytesTolerance, m.BytesTolerance)
	}
	return a
}

// unsure reports whether the sizes of so many objects are unknown that lines on T and []T may be
// confused.
func (r *recording) unsure() bool { return r.unsized > excess(r.calls, r.collected) }

// withinGolden is the outcome of a pass. It names the allocations that not every call makes, which
// are in no golden file.
func (x *experiment) withinGolden(c *check.Comparison, r *recording) *assertion.Outcome {
	o := &assertion.Outcome{Verdict: verdict.Pass, Golden: c, Notes: passed(r, nil)}
	if note := r.lessThanOnce(); note != "" {
		o.Notes = append(o.Notes, note)
	}
	if note := c.Improvements(); note != "" && !c.Write {
		o.Notes = append(o.Notes, strings.Replace(note, "less is retained", "less is allocated", 1))
	}
	return o
}

// lessThanOnce names the types that only some calls allocate.
func (r *recording) lessThanOnce() string {
	const most = 3
	var names []string
	left := 0
	for _, n := range r.rows {
		switch {
		case n.runtime || n.objects <= excess(r.calls, r.collected) || n.perCall(r.calls, comparedUp) > 0:
		case len(names) == most:
			left++
		default:
			names = append(names, fmt.Sprintf("%s (%s allocs/op)", shownName(n.name), rate(n.objects, r.calls)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	note := "less than once a call, which golden files do not have: " + strings.Join(names, ", ")
	if left > 0 {
		note += fmt.Sprintf(", and %d more", left)
	}
	return note
}

// beyondGolden is the outcome of a failure, with the stacks that allocated the objects if there is
// time to find them.
func (x *experiment) beyondGolden(c *check.Comparison, r *recording) *assertion.Outcome {
	failures := c.Failures
	measure := "the golden file allows"
	if x.Env.Goldens != "" {
		measure = "the base does"
	}
	lines := []string{fmt.Sprintf("leakcheck: op allocates more than %s (%s): %s", measure, textfmt.CountNoun(int64(len(failures)), "line"), c.Shown), ""}
	o := &assertion.Outcome{Verdict: verdict.Fail, Golden: c}
	for i := range failures {
		d := &failures[i]
		lines = append(lines, "    "+shownName(overName(d))+": "+overText(d))
		o.Bounds = append(o.Bounds, overRecord(d))
		for _, n := range r.rows {
			if path, typ := n.goldenPlace(); len(d.Covered) > 0 && isCovered(d.Covered, path, typ) {
				n.over = true
			}
		}
	}
	lines = append(append(lines, ""), r.explained(x.sites(r), x.Env)...)
	if x.Env.Goldens == "" {
		lines = append(lines, "    to accept it: "+x.UpdateCommand())
	}
	o.Message = strings.Join(lines, "\n")
	return o
}

func isCovered(ms []golden.Measurement, path, typ string) bool {
	for _, m := range ms {
		if m.Path == path && m.Type == typ {
			return true
		}
	}
	return false
}

// overName is the type, or else the path, of a line of a golden file.
func overName(d *golden.Difference) string {
	if d.Entry.Type != "" && d.Entry.Type != "*" {
		return d.Entry.Type
	}
	return d.Entry.Path
}

// overText is "2 allocs/op (96 B/op), golden 1 allocs/op, 48 B/op".
func overText(d *golden.Difference) string {
	text := fmt.Sprintf("%d allocs/op (%d B/op), ", d.Objects, d.Bytes)
	if d.Kind == golden.Unlisted {
		return text + "not in the golden file"
	}
	return text + fmt.Sprintf("golden %s allocs/op, %s B/op", d.Entry.Objects, d.Entry.Bytes)
}

// overRecord is a broken line of a golden file, for result.json.
func overRecord(d *golden.Difference) verdict.Bound {
	b := verdict.Bound{
		Kind: verdict.Allocs, Selector: "AssertAllocs: " + overName(d), Objects: d.Objects, Bytes: d.Bytes, Verdict: verdict.Fail, Growth: overText(d),
	}
	objects, bytes := d.Objects-d.ObjectsOver, d.Bytes-d.BytesOver
	if d.ObjectsOver > 0 {
		b.MaxObjects = &objects
	}
	if d.BytesOver > 0 {
		b.MaxBytes = &bytes
	}
	return b
}
