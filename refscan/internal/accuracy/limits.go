package main

import "fmt"

// What an audit may say at worst. Nothing that the collector found dead may be reached.
const (
	// percent of the attributed bytes, less those of variables that the linker dropped
	minTyped = 99.0
	// maxWorse is how many percent points of typed bytes a row may lose against the document: heaps
	// of 300 KB hold some KB that vary from run to run, such as the runtime's and package
	// testing's.
	maxWorse = 0.3
	// maxMissed is what may be alive to the collector and out of reach in the snapshot a moment
	// later, in bytes for each processor that the program has: a timer heap that was replaced by a
	// longer one, for example.
	maxMissed = 128
	// maxDropped comes on top for each processor that the freeze takes away: what it caches is
	// dropped with it, such as up to 128 sudogs of 112 bytes (go1.26 runtime/proc.go, p.destroy).
	maxDropped = 16 << 10
)

// judge returns what is wrong with an audit, or "". The program had this many processors.
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
