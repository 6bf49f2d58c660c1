package leakcheck_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

type readItem struct {
	_ *readItem
	_ [100]int
}

var readTwice []*readItem

// Whatever the assertion needs, a snapshot is scanned at most once, and nothing else of it is read
// twice.
func TestNothingIsScannedTwice(t *testing.T) {
	needSnapshots(t)
	for range 2 {
		readTwice = append(readTwice, &readItem{})
	}
	t.Cleanup(func() { readTwice = readTwice[:0:0] })
	own := leakcheck.Root("leakcheck_test.readTwice")
	objects := leakcheck.Type[*readItem]()
	goroutines := leakcheck.Goroutines("leakcheck_test.**")
	for _, c := range []struct {
		name string
		opts []leakcheck.Option
		want map[string]int // over all snapshots
	}{
		{"reach", []leakcheck.Option{own.MaxObjects(3), own.MaxBytes(1 << 20)}, map[string]int{}},
		{"in full", []leakcheck.Option{own.MaxObjects(3), leakcheck.Full()}, map[string]int{"snapshots": 1, "scans": 1}},
		{"objects", []leakcheck.Option{own.MaxObjects(3), objects.MaxObjects(2)}, map[string]int{}},
		{"more than reach", []leakcheck.Option{own.MaxObjects(1), objects.MaxObjects(2)}, map[string]int{"snapshots": 3, "scans": 3, "elsewhere": 2}},
		{"too many objects", []leakcheck.Option{own.MaxObjects(3), objects.MaxObjects(1)}, map[string]int{"snapshots": 3, "scans": 3, "elsewhere": 2}},
		{"kept on purpose", []leakcheck.Option{leakcheck.TypeNamed("log.Logger").None()}, map[string]int{"snapshots": 1, "scans": 1}},
		{"retained", []leakcheck.Option{own.MaxObjects(3).MaxRetainedObjects(3), objects.MaxRetainedBytes(1 << 20)}, map[string]int{"snapshots": 1, "scans": 1}},
		{"goroutines", []leakcheck.Option{goroutines.Max(100)}, map[string]int{}},
		{"leaked", []leakcheck.Option{goroutines.NoneLeaked()}, map[string]int{"snapshots": 1, "stacks": 1, "leaked": 1}},
		{"all", []leakcheck.Option{own.MaxRetainedObjects(3), goroutines.Max(100), goroutines.NoneLeaked()}, map[string]int{"snapshots": 1, "scans": 1, "stacks": 1, "leaked": 1}},
		{"broken", []leakcheck.Option{own.MaxObjects(1)}, map[string]int{"snapshots": 3, "scans": 3, "elsewhere": 2}},
		{"retains too much", []leakcheck.Option{own.MaxRetainedObjects(1)}, map[string]int{"snapshots": 3, "scans": 3, "elsewhere": 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads := make(map[string]int)
			rt := &recordingT{name: t.Name()}
			leakcheck.AssertRetainedCounting(rt, reads, c.opts...)
			message := strings.Join(rt.errors, "\n")
			if broken := c.want["elsewhere"] > 0; broken != strings.Contains(message, "more is retained") {
				t.Error(message, rt.logs)
			}
			if !maps.Equal(reads, c.want) {
				t.Errorf("%v, want %v", reads, c.want)
			}
		})
	}
}
