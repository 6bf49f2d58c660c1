// Package policy has the tests of what no single package can check: what the linked packages import
// and export, how much a test binary grows, which way layers point, and that README, CI and the
// tracked files say what they should.
//
// The tables in these tests are policy, not data to be edited until they are green: a change of one
// is a decision, to be explained in its commit.
package policy
