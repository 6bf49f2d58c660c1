package main

import "fmt"

// The worst figures that an audit may have. No object that the collector found dead may be reached.
const (
	// percent of the attributed bytes, less those of variables that the linker dropped
	minTyped = 99.0
	// maxWorse is how many percent points of typed bytes a row may lose against the document: heaps
	// of 300 KB hold some KB that vary from run to run, such as objects of the runtime and of
	// package testing.
	maxWorse = 0.3
	// maxMissed is how many bytes per processor of the program may be alive to the collector and
	// unreachable in the snapshot a moment later: a timer heap that was replaced by a longer one,
	// for example.
	maxMissed = 128
	// maxDropped is allowed in addition for each processor that the freeze takes away, since what
	// the processor caches is dropped: up to 128 sudogs of 112 bytes, for example (go1.26
	// runtime/proc.go, p.destroy).
	maxDropped = 16 << 10
)

// judge returns what is wrong with an audit, or "". procs is the program's GOMAXPROCS.
func (r *row) judge(procs int) string {
	t := r.Totals
	missed := int64(procs*maxMissed + (procs-1)*maxDropped)
	switch {
	case t.LiveBytes == 0:
		return "nothing is alive"
	case t.ExtraBytes != 0:
		return fmt.Sprintf("%d B are reached that the collector found dead", t.ExtraBytes)
	case t.MissedBytes > missed:
		return fmt.Sprintf("%d B are missed, of %d B that may be", t.MissedBytes, missed)
	case r.typable() < minTyped:
		return fmt.Sprintf("only %.2f %% are typed", r.typable())
	}
	return ""
}
