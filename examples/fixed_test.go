package examples

import (
	"path/filepath"
	"strconv"
	"testing"
)

// TestFixed runs the fixed twins, -repeat times in one process, and expects them to pass.
func TestFixed(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		t.Parallel()
		r := goTest(t, module(t, e, "fixed"), nil, "-count="+strconv.Itoa(*repeat), ".")
		if !r.passed {
			t.Errorf("a false alarm:\n%s", r.output)
		}
	})
}

// TestSuite runs the example for testify, which must pass.
func TestSuite(t *testing.T) {
	dir, err := filepath.Abs("suite")
	if err != nil {
		t.Fatal(err)
	}
	if r := goTest(t, dir, nil, "-count="+strconv.Itoa(*repeat), "."); !r.passed {
		t.Errorf("a false alarm:\n%s", r.output)
	}
}
