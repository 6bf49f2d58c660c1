// Package capture is the wing of this process's own snapshots: taking one and building its typed
// heap once (snapshot), and proofs that a bound holds without one (proof), by what is read in place
// (inspect).
//
// It uses all wings but native.
package capture
