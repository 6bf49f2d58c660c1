package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An entry is a row of the table of constructs.
type entry struct {
	row
	procs int // GOMAXPROCS of the test program
}

// auditConstructs runs each test of a construct in a process of its own. It writes the table into
// the document or, with check, compares it with the document.
func auditConstructs(ctx context.Context, w io.Writer, checkout string, check bool) (err error) {
	version, err := goVersion(ctx, checkout)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "leakgate-accuracy-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	tests, err := constructTests(checkout)
	if err != nil {
		return err
	}
	s, err := buildSuite(ctx, checkout, scratch, nil, nil)
	if err != nil {
		return err
	}
	var entries []entry
	var problems []string
	for _, test := range tests {
		// With one processor, none is taken away by the freeze together with what it caches. A few
		// tests need a second one, and skip, or have collections under way whenever they capture.
		procs := 1
		rows, err := s.audit(ctx, procs, test)
		if err != nil || len(rows) == 0 {
			procs = processors()
			rows, err = s.audit(ctx, 0, test)
		}
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if len(rows) == 0 {
			problems = append(problems, test+" recorded no audit: every scan of a test of constructs goes through holds or sound")
		}
		for _, r := range worst(rows) {
			e := entry{r, procs}
			entries = append(entries, e)
			if wrong := e.judge(procs); wrong != "" {
				problems = append(problems, e.name()+": "+wrong)
			}
		}
	}
	name := "constructs " + minor(version)
	table := constructTable(version, entries)
	fmt.Fprint(w, table)
	if check {
		documented, err := accuracy.read(checkout, name)
		if err != nil {
			return err
		}
		problems = append(problems, compareConstructs(entries, tableRows(documented))...)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problems:\n%s", len(problems), strings.Join(problems, "\n"))
	}
	if check {
		return nil
	}
	return accuracy.write(checkout, name, table)
}

// goVersion returns the version of the toolchain that a checkout is built with, such as "go1.26.8".
func goVersion(ctx context.Context, checkout string) (string, error) {
	return tool{dir: checkout}.value(ctx, "go", "env", "GOVERSION")
}

var minorPattern = regexp.MustCompile(`^go1\.\d+`)

func minor(version string) string { return minorPattern.FindString(version) }

// name is the construct's name in the table: that of the test, with spaces.
func (e *entry) name() string {
	name := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(e.Test, "Test"), "Constructs/"), "_", " ")
	return strings.TrimSpace(strings.Replace(name, "/", ": ", 1))
}

// moreProcessors marks rows of programs that had more than one processor. Which rows these are may
// change from run to run.
const moreProcessors = " †"

func constructTable(version string, entries []entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n\n", version)
	b.WriteString("| construct | live KB | attributed % | typed % | missed B | extra B |\n|---|---:|---:|---:|---:|---:|\n")
	for i := range entries {
		e := &entries[i]
		t, mark := e.Totals, ""
		if e.procs > 1 {
			mark = moreProcessors
		}
		fmt.Fprintf(&b, "|%s%s|%d|%.2f|%.2f|%d|%d|\n", e.name(), mark, t.LiveBytes/1024, e.attributed(), e.typed(), t.MissedBytes, t.ExtraBytes)
	}
	return b.String()
}

// compareConstructs returns where the entries are worse than the document, or not in it.
func compareConstructs(entries []entry, documented map[string][]string) (problems []string) {
	cellsOf := make(map[string][]string)
	for name, cells := range documented {
		cellsOf[strings.TrimSuffix(name, moreProcessors)] = cells
	}
	var names []string
	for i := range entries {
		e := &entries[i]
		names = append(names, e.name())
		cells, ok := cellsOf[e.name()]
		if !ok {
			problems = append(problems, e.name()+": not in "+accuracy.file()+"; run the command again without -check")
			continue
		}
		if len(cells) != 5 {
			problems = append(problems, fmt.Sprintf("%s: has %d columns in %s instead of 6", e.name(), len(cells)+1, accuracy.file()))
			continue
		}
		if was, err := strconv.ParseFloat(cells[2], 64); err != nil || e.typed() < was-maxWorse {
			problems = append(problems, fmt.Sprintf("%s: %.2f %% are typed; %s says %s", e.name(), e.typed(), accuracy.file(), cells[2]))
		}
	}
	for name := range cellsOf {
		if !slices.Contains(names, name) {
			problems = append(problems, name+": in "+accuracy.file()+", but there is no such construct; run the command again without -check")
		}
	}
	slices.Sort(problems)
	return problems
}
