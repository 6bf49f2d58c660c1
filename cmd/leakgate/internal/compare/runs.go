package compare

import (
	"fmt"
	"strconv"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// A Site is an assertion's place in its test, which does not depend on line numbers: the nth place
// in the test that asserts. With -count it has several assertions.
type Site struct {
	Package string
	Test    string
	N       int // from 1
}

// String returns the test, with the number if it is not the first.
func (s Site) String() string {
	if s.N == 1 {
		return s.Test
	}
	return s.Test + " #" + strconv.Itoa(s.N)
}

// Sites returns the assertions of a run by place, and the places in the run's order.
func Sites(run *outcome.Run) (order []Site, at map[Site][]*outcome.Assertion) {
	at = make(map[Site][]*outcome.Assertion)
	for _, p := range run.Packages {
		places := make(map[string]map[string]int) // test, "file:line" to N
		for _, a := range p.Assertions {
			if places[a.Test] == nil {
				places[a.Test] = make(map[string]int)
			}
			place := a.File + ":" + strconv.Itoa(a.Line)
			n := places[a.Test][place]
			if n == 0 {
				n = len(places[a.Test]) + 1
				places[a.Test][place] = n
			}
			s := Site{p.ImportPath, a.Test, n}
			if at[s] == nil {
				order = append(order, s)
			}
			at[s] = append(at[s], a)
		}
	}
	return order, at
}

// Runs compares two runs: a row for each place that asserts, followed by rows for its bounds. The
// order is that of after, then what only before has.
func Runs(before, after *outcome.Run) []Row {
	oldOrder, olds := Sites(before)
	order, news := Sites(after)
	for _, s := range oldOrder {
		if news[s] == nil {
			order = append(order, s)
		}
	}
	var rows []Row
	for _, s := range order {
		rows = append(rows, Row{
			Group:   s.Package,
			Name:    s.String(),
			Objects: Change{retained(olds[s], objects), retained(news[s], objects)},
			Bytes:   Change{retained(olds[s], bytes), retained(news[s], bytes)},
			Verdict: [2]string{worst(olds[s]), worst(news[s])},
		})
		rows = append(rows, bounds(s, olds[s], news[s])...)
	}
	return rows
}

func objects(a *outcome.Assertion) int64 { return a.RetainedObjects }
func bytes(a *outcome.Assertion) int64   { return a.RetainedBytes }

// retained collects a figure of the assertions that measured memory.
func retained(as []*outcome.Assertion, figure func(*outcome.Assertion) int64) Series {
	var s Series
	for _, a := range as {
		if a.Totals.LiveBytes > 0 {
			s = append(s, figure(a))
		}
	}
	return s
}

// worst returns the worst verdict of assertions, "" if there are none.
func worst(as []*outcome.Assertion) string {
	rank := map[verdict.Verdict]int{"": 0, verdict.Pass: 1, verdict.Unknown: 2, verdict.Fail: 3}
	var w verdict.Verdict
	for _, a := range as {
		if rank[a.Verdict] > rank[w] {
			w = a.Verdict
		}
	}
	return string(w)
}

// bounds compares the bounds of one place. Bounds with the same selector are paired in order, the
// nth with the nth. A bound on retained sizes has a second row for them.
func bounds(s Site, olds, news []*outcome.Assertion) []Row {
	var rows []Row
	at := make(map[string]int)
	row := func(selector string) *Row {
		i, ok := at[selector]
		if !ok {
			i = len(rows)
			at[selector] = i
			rows = append(rows, Row{Group: s.Package, Name: selector, Depth: 1})
		}
		return &rows[i]
	}
	each := func(as []*outcome.Assertion, add func(r *Row, objects, bytes int64)) {
		for _, a := range as {
			times := make(map[string]int)
			for _, b := range a.Bounds {
				times[b.Selector]++
				name := b.Selector
				if n := times[b.Selector]; n > 1 {
					name = fmt.Sprintf("%s #%d", name, n)
				}
				add(row(name), b.Objects, b.Bytes)
				if b.MaxRetainedObjects != nil || b.MaxRetainedBytes != nil {
					add(row(name+" retained"), b.RetainedObjects, b.RetainedBytes)
				}
			}
		}
	}
	each(news, func(r *Row, objects, bytes int64) {
		r.Objects.New, r.Bytes.New = append(r.Objects.New, objects), append(r.Bytes.New, bytes)
	})
	each(olds, func(r *Row, objects, bytes int64) {
		r.Objects.Old, r.Bytes.Old = append(r.Objects.Old, objects), append(r.Bytes.Old, bytes)
	})
	return rows
}
