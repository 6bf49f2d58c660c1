// Package leakcheck lets a test say how much memory may stay reachable, and from where.
//
//	func TestSessionsAreDropped(t *testing.T) {
//		srv := app.New()
//		for range 100 {
//			srv.Login().Logout()
//		}
//		leakcheck.AssertRetained(t,
//			leakcheck.Root("example.com/app.sessions").MaxObjects(1), // the map itself, empty
//			leakcheck.Type[*app.Session]().None(),
//		)
//	}
//
// An assertion freezes the running test, follows every reference from the garbage collector's roots
// with the program's own debug information, and counts each live heap object. Counts are exact, not
// sampled. A failure names the root, its declaration, and the path to what it holds. The guides and
// the reference are in the repository's folder doc.
//
// # Assertions
//
// AssertNoGrowth calls an operation again and again, and fails if anything grows with the number of
// calls. AssertRetained compares what is retained with bounds or, without a bound, with a golden
// file. ExpectCollected and AssertCollected name one object that has to be garbage. AssertAllocs
// bounds what one call allocates, AssertPeak what is alive while a call runs. Find is
// AssertRetained without a test; ReportRetained and ReportAllocs add figures to a benchmark;
// VerifyTestMain asserts once for all tests of a package. With InProcess, AssertNoGrowth,
// AssertRetained and Find look into another process: a server that the test has started.
//
// # Selectors
//
// A bound begins with a selector and ends with an amount, as in Root("app.cache").MaxBytes(1<<20).
// Root and Path select everything that the roots or paths hold that match, whoever else holds it,
// too. Type and TypeNamed select objects by type, wherever they are. Goroutines, Stack, Files,
// Processes, Threads and NativeMemory select what their names say. Scope restricts the roots,
// Ignore leaves out known paths, and Since counts only what is new. Paths are written as in Go,
// with elements folded: "example.com/app.srv.conns[*].buf", and "[$key]" for what a map's keys
// refer to. Import paths may be shortened to their last elements or to the package's name; "*"
// stands for anything but "/", "**" and "..." for anything. A pattern that matches nothing in the
// program fails the test, and the message lists similar names.
//
// An object is one allocation: a []T is one object however many T it has. A map is one object with
// the bytes of its tables. Bytes are those of size classes. Objects that the standard library keeps
// on purpose, and memory that package testing has until the test ends, do not count, unless a bound
// or a Scope names their root; the log has their amount.
//
// # Three verdicts
//
// The verdict is pass, fail, or unknown. It is unknown if no snapshot can be taken, or if the scan
// does not agree with the collector's own marks to within 0.5 % of the live bytes (in a small heap
// 32 KiB for each processor). Unknown is never a pass. It comes with its cause and its remedy,
// fails the test in CI, where the variable CI is set, and is logged elsewhere. On systems without
// snapshots it skips the test. With LEAKGATE_STRICT=1, which the command leakgate sets, it always
// fails.
//
// An assertion that does not hold at first is checked again after 100 ms and 400 ms, and fails only
// if it does not hold in the last snapshot.
//
// All tests of a binary share one process. Memory of tests that run at the same time counts, too,
// unless Scope or Since leave it out. A test's own variables are roots: an object that a test still
// uses after the assertion is alive, and the message says so.
//
// # Debug information
//
// Plain go test links without debug information; go test -c and leakgate run keep it. The first
// assertion of such a binary that needs it links the test once more, which takes the go command,
// the sources and some seconds. Where they are missing the verdict is unknown.
//
// # Golden files
//
// Without a bound, AssertRetained compares what the module under test retains with
// testdata/leakcheck/<Test>.golden: a line for each path, in the format of package golden. More
// than the file allows fails; less passes, and is logged. To write or renew the files, set
// LEAKGATE_UPDATE=1, or give the test binary the flag -leakcheck.update, or -update where
// VerifyTestMain or the package declares it. A missing file is created, but not in CI.
//
// # Artifacts
//
// With the variable LEAKGATE_ARTIFACTS each assertion leaves a folder with its record, and one that
// does not pass with its message, profiles and reports. So does a failed test under go test
// -artifacts. A message shows the stack that allocated an object where that is known for certain:
// in AssertNoGrowth, and in tests that run with -memprofilerate=1.
//
// The package adds at most 4.30 MiB to a test binary that calls it, and next to nothing to one that
// only imports it.
package leakcheck
