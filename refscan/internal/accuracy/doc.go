// Accuracy judges the scan by the garbage collector and keeps the record of it, doc/accuracy.md.
// From the checkout's top folder:
//
//	go run ./refscan/internal/accuracy constructs [-check]
//	go run ./refscan/internal/accuracy builds [-check] [NAME ...]
//	go run ./refscan/internal/accuracy module [-for 2m] [-run RE] MODULE@VERSION PACKAGE
//
// constructs runs each test of package refscan that keeps a known payload alive in a process of its
// own, and writes the audits of the scans into the section of this Go version. builds runs them all
// in builds of every mode. With -check nothing is written: it is an error if an audit is worse than
// the limits in limits.go, or if the document lacks a construct or has one that is gone.
// GOTOOLCHAIN chooses the Go version.
//
// module takes a copy of a public module, adds a probe to the tests of one of its packages, runs
// them, and prints the audits of snapshots taken in their midst and at their end. PACKAGE is a
// folder below the module.
package main
