// Performance measures what snapshots, scans and assertions cost and prints the tables of
// doc/performance.md. From the checkout's top folder, on a machine that does nothing else:
//
//	go run ./refscan/internal/performance [-write] [-quick]
//
// It runs the repository's benchmarks with go test, and times what happens once for each test
// binary: some five minutes. -write puts the tables into the document. -quick takes smaller heaps
// and fewer rounds, to check that the command works.
package main
