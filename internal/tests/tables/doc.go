// Tables measures what leakgate claims, and writes the tables of doc/accuracy.md and
// doc/performance.md. From the checkout's top folder:
//
//	go run ./internal/tests/tables constructs [-check]
//	go run ./internal/tests/tables builds [-check] [NAME ...]
//	go run ./internal/tests/tables module [-every 3s] [-run RE] MODULE@VERSION PACKAGE
//	go run ./internal/tests/tables performance [-write] [-quick]
//
// The first three compare scans with the garbage collector's marks. constructs runs each test of
// package refscan that keeps a known payload alive in a process of its own, and writes the audits
// of the scans into the section of this Go version. builds runs all these tests in builds of every
// mode. With -check nothing is written: it is an error if an audit is worse than the limits in
// limits.go, or if the constructs in the document are not those of the tests. GOTOOLCHAIN chooses
// the Go version.
//
// module copies a public module, adds a probe to the tests of one of its packages, runs them, and
// prints the audits of snapshots taken in their midst and at their end. PACKAGE is a folder below
// the module.
//
// performance measures what snapshots, scans and assertions cost, on a machine that does nothing
// else. It runs the repository's benchmarks with go test, and times what happens once for each test
// binary: some five minutes. -write puts the tables into the document, too. -quick takes smaller
// heaps and fewer rounds, to check that the command works.
package main
