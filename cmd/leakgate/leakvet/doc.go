// Package leakvet is an analyzer that finds mistakes in tests that use leakcheck, without running
// them:
//
//   - AssertRetained, AssertNoGrowth and AssertPeak in a parallel test without anything that keeps
//     other tests' memory out;
//   - a bound on a package variable, function or type that does not exist, with a fix where a name
//     comes near;
//   - an assertion without a test (nil), which panics; an empty pattern, a negative bound, which
//     fail the test whatever it retains;
//   - AssertCollected on an object that the test still uses afterwards, and ExpectCollected in a
//     subtest on one that the test uses after the subtest;
//   - a test that compares with a golden file that is not there, and golden files that belong to no
//     test;
//   - leakcheck imported by code that is no test.
//
// The command "leakgate vet" runs it, "go vet -vettool=$(which leakgate)" does too, and Analyzer
// fits every driver of golang.org/x/tools/go/analysis, such as a module plugin of golangci-lint.
//
// It says nothing where it cannot be sure: of patterns with wildcards, of options that are not
// written out in the call, of names that are computed. "go vet" keeps what it found as long as Go
// files do not change; golden files that come and go in between are seen by "leakgate vet" only,
// which keeps nothing, and reads what packages import only where a name is looked up.
package leakvet
