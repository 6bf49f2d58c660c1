// Accuracy compares scans with the garbage collector's marks and keeps the record, doc/accuracy.md.
// From the checkout's top folder:
//
//	go run ./refscan/internal/accuracy constructs [-check]
//	go run ./refscan/internal/accuracy builds [-check] [NAME ...]
//	go run ./refscan/internal/accuracy module [-for 2m] [-run RE] MODULE@VERSION PACKAGE
//
// constructs runs each test of package refscan that keeps a known payload alive in a process of its
// own, and writes the audits of the scans into the section of this Go version. builds runs all
// these tests in builds of every mode. With -check nothing is written: it is an error if an audit
// is worse than the limits in limits.go, or if the constructs in the document are not those of the
// tests. GOTOOLCHAIN chooses the Go version.
//
// module copies a public module, adds a probe to the tests of one of its packages, runs them, and
// prints the audits of snapshots taken in their midst and at their end. PACKAGE is a folder below
// the module.
package main
