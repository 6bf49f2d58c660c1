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

// TestOnItsOwn runs the examples without a leaky twin, which must pass.
func TestOnItsOwn(t *testing.T) {
	for _, folder := range []string{"suite", "spike"} {
		t.Run(folder, func(t *testing.T) {
			dir, err := filepath.Abs(folder)
			if err != nil {
				t.Fatal(err)
			}
			if r := goTest(t, dir, nil, "-count="+strconv.Itoa(*repeat), "."); !r.passed {
				t.Errorf("it must pass:\n%s", r.output)
			}
		})
	}
}
