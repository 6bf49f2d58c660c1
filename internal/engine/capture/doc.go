// Package capture is the wing of this process's own snapshots: taking one and building its typed
// heap once (snapshot), and proofs that a bound holds without one: reachability in place (reach),
// new objects by counters (newborn), and what they prove (proof).
//
// It uses all wings but native.
package capture
