// Package allocs has tests of leakcheck.AssertAllocs alone: golden files of ordinary operations,
// which have to hold however the tests are built and run.
package allocs
