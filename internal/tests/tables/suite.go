package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// A suite is a built test binary of package refscan.
type suite struct {
	binary  string
	dir     string // the package's folder
	scratch string
	env     []string
}

// inMotion are tests whose heap changes while they take snapshots: objects that die between the
// collection and the freeze would be missed, which is no fault.
var inMotion = []string{"TestParallelCaptures", "TestUnstartedGoroutines"}

var testDeclaration = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// constructTests returns the names of the tests in package refscan that keep a known payload alive,
// in the order of files and lines.
func constructTests(checkout string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(checkout, "refscan", "constructs_*_test.go"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range append([]string{filepath.Join(checkout, "refscan", "corpus_test.go")}, files...) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range testDeclaration.FindAllSubmatch(data, -1) {
			if name := string(m[1]); !slices.Contains(inMotion, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New("package refscan has no tests of constructs")
	}
	return names, nil
}

// buildSuite builds the tests of package refscan.
func buildSuite(ctx context.Context, checkout, scratch string, env, flags []string) (*suite, error) {
	s := &suite{binary: filepath.Join(scratch, "refscan.test"), dir: filepath.Join(checkout, "refscan"), scratch: scratch, env: env}
	args := append([]string{"test", "-c", "-vet=off", "-o", s.binary}, flags...)
	_, err := tool{dir: checkout, env: env}.run(ctx, "go", append(args, "./refscan")...)
	return s, err
}

// audit runs tests in one process and returns the audits that they recorded. With procs 0 the
// program has the processors of the machine.
func (s *suite) audit(ctx context.Context, procs int, tests ...string) ([]row, error) {
	rowsFile := filepath.Join(s.scratch, "rows")
	if err := os.Remove(rowsFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	t := tool{dir: s.dir, env: append(slices.Clone(s.env), everything, "LEAKGATE_ACCURACY="+rowsFile)}
	if procs > 0 {
		t.env = append(t.env, fmt.Sprint("GOMAXPROCS=", procs))
	}
	_, testErr := t.run(ctx, s.binary, "-test.timeout=20m", "-test.run=^("+strings.Join(tests, "|")+")$")
	rows, err := readRows(rowsFile)
	return rows, errors.Join(testErr, err)
}

// worst merges audits of the same test into one, with the worst of each figure.
func worst(rows []row) []row {
	var merged []row
	index := make(map[string]int)
	for _, r := range rows {
		i, seen := index[r.Test]
		if !seen {
			index[r.Test] = len(merged)
			merged = append(merged, r)
			continue
		}
		m := &merged[i].Totals
		missed, extra := max(m.MissedBytes, r.Totals.MissedBytes), max(m.ExtraBytes, r.Totals.ExtraBytes)
		if r.typed() < merged[i].typed() {
			*m, merged[i].Unused = r.Totals, r.Unused
		}
		m.MissedBytes, m.ExtraBytes = missed, extra
	}
	return merged
}

// processors is the default GOMAXPROCS of a program.
func processors() int { return runtime.GOMAXPROCS(0) }
