// Package leakcheck stands in for the real one in the scripts of cmd/leakgate: it leaves records with
// the verdicts that a test asks for, in the documented layout, in no time.
package leakcheck

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Record is the record to leave. Fields not set here take the value of a passing assertion.
type Record map[string]any

var seq = make(map[string]int)

// Assert leaves a record with a verdict for the test of package pkg, and fails the test unless the
// verdict is pass.
func Assert(t testing.TB, pkg, verdict string, more ...Record) {
	t.Helper()
	Leave(pkg, t.Name(), verdict, more...)
	if verdict != "pass" {
		t.Errorf("leakcheck: verdict %s", verdict)
	}
}

// Leave leaves a record, and a file that it names, which tells what the environment asked for.
func Leave(pkg, test, verdict string, more ...Record) {
	seq[test]++
	dir := filepath.Join(os.Getenv("LEAKGATE_ARTIFACTS"), filepath.FromSlash(pkg), filepath.FromSlash(test), strconv.Itoa(seq[test]))
	r := Record{
		"schema": 2, "package": pkg, "test": test, "seq": seq[test], "verdict": verdict,
		"totals":           Record{"live_bytes": 3 << 20, "attributed_bytes": 3 << 20, "typed_bytes": 3<<20 - 1},
		"retained_objects": 301, "retained_bytes": 4096, "pause_ns": 1500000,
		"bounds":    []Record{{"kind": "retained", "selector": `Root("app.sessions")`, "max_objects": 1, "objects": 100, "verdict": verdict}},
		"artifacts": Record{"report": "report.json"},
	}
	for _, m := range more {
		for k, v := range m {
			r[k] = v
		}
	}
	data, err := json.Marshal(r)
	check(err)
	check(os.MkdirAll(dir, 0o777))
	seen, err := json.MarshalIndent(map[string]string{
		"LEAKGATE_ARTIFACTS_ALL": os.Getenv("LEAKGATE_ARTIFACTS_ALL"),
		"LEAKGATE_ARTIFACTS_MAX": os.Getenv("LEAKGATE_ARTIFACTS_MAX"),
	}, "", "  ")
	check(err)
	check(os.WriteFile(filepath.Join(dir, "report.json"), seen, 0o666))
	check(os.WriteFile(filepath.Join(dir, "result.json"), data, 0o666))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
