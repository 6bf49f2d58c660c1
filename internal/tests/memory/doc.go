// Package memory has tests of what the assertions and the commands do where memory is short: a
// program of tests, in testdata/program, runs in memory cgroups with limits of 1.2 to 4 times its
// resident size. The step memory of .ci/run runs them.
package memory
