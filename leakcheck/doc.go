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
// AssertRetained freezes the running test, follows every reference from the garbage collector's
// roots with the program's own debug information, and counts each live heap object once, at the
// shortest path that keeps it alive. Counts are exact, not sampled. A failure names the root, where
// it is declared, and the path to what it holds.
//
// # Bounds
//
// Root and Path select everything that lies below the roots or paths that match; the memory of
// several matches is added up. Paths are written as in Go, with elements folded:
// "example.com/app.srv.conns[*].buf", and "[$key]" for objects that a map's keys refer to. Import
// paths may be shortened to their last elements or to the package's name, "*" stands for anything
// but "/", "**" and "..." for anything. Type and TypeNamed select objects by type, whatever holds
// them.
//
// Bounds count all roots, also the test's own variables: an object that a test still uses after the
// assertion is alive, and the message says so. Scope restricts the roots, Ignore leaves out known
// paths, and Since counts only new memory.
//
// A bound on a root or a type that the program does not have fails the test, and the message lists
// similar names. So does a Path by a field that the struct there does not have, as far as the types
// of the program tell: a field of an embedded struct is written with the struct's name. Behind
// interfaces, functions, channels and wildcards, and below types of the standard library, they do
// not. A Path whose root exists may end at a field that holds nothing at that moment; that passes,
// and is logged.
//
// # Expected death
//
// ExpectCollected names one object that must be garbage when the test ends, AssertCollected one
// that must be garbage at the call:
//
//	s := srv.Login()
//	leakcheck.ExpectCollected(t, s, "logged out")
//	s.Logout()
//
// Both keep only a weak pointer. If the object is gone, they cost no more than a garbage
// collection. If it is not, the message shows the shortest path that keeps it alive, and the other
// ways in which it is held:
//
//	leakcheck: *app.Session is still reachable: logged out
//	        expected to be garbage when the test ends (app_test.go:21)
//	        it keeps 2 objects alive, 1.0 KiB
//	        held by the package variable example.com/app.srv (app.go:18)
//
//	        example.com/app.srv  *app.server
//	        └─ sessions  map[string]*app.Session
//	           └─ [*]  *app.Session  ← expected to be garbage
//
// # Goroutines and stacks
//
// Goroutines bounds the number of goroutines that started in a function or were created by it.
// Stack bounds the stack memory that a function and its callees have in use:
//
//	leakcheck.AssertRetained(t,
//		leakcheck.Goroutines("app.NewPool").Max(4),
//		leakcheck.Stack("app.(*Pool).run").MaxBytes(64<<10),
//		leakcheck.Goroutines("app.**").NoneLeaked(),
//	)
//
// NoneLeaked forbids goroutines that are blocked for ever: nothing that can still run reaches the
// channel or lock that they wait for. Recorded, of either selector, adds lines to a golden file
// instead. Without bounds on the heap, and without NoneLeaked, no garbage is collected and no heap
// scanned.
//
// # Without debug information
//
// Plain go test links without debug information; go test -c and leakgate run keep it. Such a test
// is linked once more with it, which takes the go command and the sources. On a machine without
// them the verdict of each assertion that takes a snapshot is unknown.
//
// # Growth
//
// AssertNoGrowth needs no figures. It calls a function again and again, and fails if anything grows
// with the number of calls:
//
//	leakcheck.AssertNoGrowth(t, func() {
//		srv.Login().Logout()
//	})
//
// Counters may prove at once that nothing new stays. Otherwise the batches of calls double, with a
// snapshot after each. This distinguishes a leak from a cache that fills up, a table that doubles
// now and then, or growth with a logarithm: growth that slows down passes, and growth that keeps
// pace with the calls, or gets faster, fails. Further batches that are no larger distinguish a leak
// from memory that is as large as the largest batch of calls, such as a pool of workers. Goroutines
// that pile up are growth too, and are named by their function and the go statement that starts
// them; so are pending timers, named by the function that they will run:
// "timer(context.WithTimeout)". Timers that fire within two seconds are waited for. Objects that
// the collector keeps alive though no path leads to them are growth "(alive on no path)". Objects
// of the program's types that are at another place at each snapshot are counted wherever they are.
// A failure is stated as a rate:
//
//	+1.00 *app.Session/op (+4.2 KiB/op) via example.com/app.sessions[*]
//
// The counts at each snapshot and the path from the root follow. If other roots hold the same
// objects, too, the message names the one that has most of them: cutting one path would not be
// enough. AssertNoGrowth does not see growth of less than one object in a hundred calls, growth of
// none at all in the first batch, or elements without pointers that fit into spare capacity. Growth
// that is left out on purpose is in the log.
//
// # Allocations
//
// AssertAllocs bounds the allocations of one call of a function, by type and in all; the other
// assertions bound the memory that stays:
//
//	leakcheck.AssertAllocs(t, func() { srv.Login().Logout() },
//		leakcheck.Type[*app.Session]().MaxAllocsPerOp(1),
//		leakcheck.AllAllocs().MaxBytesPerOp(2048),
//	)
//
// Counts are exact. They include the goroutine that calls the function and those that it starts. If
// a bound is broken, the message has a table of types and the stacks that allocate. Without a bound
// it compares with a golden file. ReportRetained adds the memory that an iteration of a benchmark
// leaves to the benchmark's results, and ReportAllocs its allocations by type.
//
// # Peaks
//
// AssertPeak bounds how much more memory is alive while a function runs than was alive before, even
// if all of it is garbage when the function returns:
//
//	leakcheck.AssertPeak(t, func() { report.Export(io.Discard) }, leakcheck.MaxBytes(8<<20))
//
// It reads the size of the live heap whenever a mark phase of the garbage collector ends. If the
// growth exceeds the bound, it takes a snapshot at once, and the message says what holds the memory
// and where it was allocated.
//
// # Golden files
//
// Without a bound, AssertRetained compares all memory that the module under test retains with
// testdata/leakcheck/<Test>.golden; the format is that of package golden. The roots are the package
// variables of the module (those of _test.go files too), the variables of goroutines that run or
// were started by its functions, and its finalizers and cleanups; not the variables of running test
// functions. Scope replaces that choice.
//
// A line is a path with the objects and bytes that it holds itself. Objects are exact. Bytes are
// exact for structs and arrays; tables of maps and backing arrays of slices may take one step of
// growth more (100 %). Each map has a line "[*]" that counts its entries. Paths more than 8 edges
// long, and all that is deep in a root with more than 40 lines, are summed up in a line "path.**".
//
// Figures that differ from run to run though the program does the same are left at 0: the bytes of
// values under 16 bytes on average (without the race detector the allocator packs them into shared
// blocks; they count one by one all the same), the tables of maps with more than 896 entries (the
// hash seed decides how they split) and of a sync.Map, and the bytes of the standard library's
// types, which change with the Go release. The contents of a sync.Pool are left out, and so are the
// frames of the runtime's own functions.
//
// More than a golden file allows fails; less passes, and is logged. To rewrite the file, set
// LEAKGATE_UPDATE=1, give the test binary the flag -leakcheck.update, or -update where
// VerifyTestMain or the package itself declares that flag:
//
//	go test ./store -run '^TestLogout$' -leakcheck.update
//
// An update changes only the lines that no longer hold, and keeps comments and bounds that a human
// widened. A missing file is created, and the log says so, but not in CI (where the variable CI is
// set), and not if a test binary that go test -c made runs in another folder than its package's:
// there the test fails with the command that creates the file. Everything that is written has been
// seen in two snapshots. The second comparison of a test has the file <Test>~2.golden, and so on in
// the order of calls; Golden gives another name.
//
// # What is kept on purpose
//
// A bound on a type does not count some memory that the standard library keeps on purpose, as long
// as it is made of the library's own types: the standard streams, the default loggers, data that
// was loaded once (time zone, root certificates, the resolver's configuration), and memory that
// grows with use. The latter are the idle connections of http.DefaultTransport and its record of
// addresses (not protocols, headers or TLS configuration that were added to it), the table of
// unique values, the slots of the environment, and of the runtime, if all types are its own, the
// lists of goroutines, threads, processors and timers. Memory that grows with use is no growth for
// AssertNoGrowth either.
//
// Memory that package testing has for a test until the test ends is no growth either: its output,
// functions registered with Cleanup, its subtests. Objects that hang on the context of the test do
// count: children that are not cancelled, functions of AfterFunc, and services that were made with
// it.
//
// Memory that was left out for such a reason and would have counted is logged, with its amount,
// place and reason. It does count for a bound, or a Scope, that names such a root.
//
// # Where it was allocated
//
// Beside the path that keeps an object alive, a message shows the stack that allocated it, if that
// is known for certain. AssertNoGrowth makes the runtime's memory profiler record each allocation
// of its last batch of calls, which runs only after a leak has shown itself, and says where the
// growing objects were allocated. It does not do so if go test writes a profile of these records in
// the end (-memprofile). Other messages show allocation stacks in a test that runs with
//
//	go test -memprofilerate=1
//
// since the profiler otherwise records one allocation in 512 KiB, by chance.
//
// # Three verdicts
//
// The verdict is pass, fail, or unknown. It is unknown if no snapshot could be taken, or if the
// scan does not agree with the collector to within 0.5 % of the live bytes (or, in a small heap, 32
// KiB for each processor: memory that the runtime dropped between the collection and the snapshot).
// Unknown is never a pass. On systems without snapshots (other than Linux on amd64 and arm64) an
// unknown verdict skips the test. Elsewhere it fails the test in CI and is logged at a developer's
// desk, always with cause and remedy. With LEAKGATE_STRICT=1, which the command leakgate sets,
// unknown always fails.
//
// An assertion that does not hold at first is checked again after 100 ms and 400 ms, and fails only
// if it does not hold in the last snapshot. AssertNoGrowth waits as long in all, once before and
// once after its last batch.
//
// # Artifacts
//
// With the variable LEAKGATE_ARTIFACTS, every assertion leaves a folder with its record,
// result.json. An assertion that does not pass also leaves files that help to find the cause:
//
//	trace.txt        the message at full length
//	retained.pb.gz   references, as a profile for "go tool pprof"
//	report.json      the same as JSON
//	report.base.json what there was at the baseline, or at the first snapshot of AssertNoGrowth
//	heap.pb.gz       the heap profile of the snapshot: where what is alive was allocated; that of
//	                 AssertNoGrowth is of before the batch of which each allocation is recorded
//	heap.base.pb.gz  the heap profile to compare it with: of the baseline, or of the first
//	                 snapshot of AssertNoGrowth
//	goroutine.pb.gz  the goroutines
//	stack.pb.gz      their stack memory, as package stackprof shows it
//
// "go tool pprof -base heap.base.pb.gz heap.pb.gz" shows the memory that was left in between. Both
// were published by a whole collection, so neither lags behind; but they are samples, one in 512
// KiB, unless the test runs with -memprofilerate=1. A file has at most 64 MiB, and at most 20
// assertions of a process leave more than a record; LEAKGATE_ARTIFACTS_MAX changes that, and
// LEAKGATE_ARTIFACTS_ALL=1 asks for the files of assertions that pass, too.
//
// Without that variable, a test that fails leaves these files in its artifact folder if it runs
// with "go test -artifacts", or below TEST_UNDECLARED_OUTPUTS_DIR, which Bazel sets.
//
// # Limits
//
// All tests of a binary share one process: memory of tests that run at the same time (t.Parallel)
// counts too, unless Scope or Since leave it out. A baseline compares figures per path, so an
// object that moves to another path counts as growth there.
//
// An object that several paths lead to is counted only at the shortest, so a bound on another of
// its paths does not see it. An object is one allocation: a []T is one object however many T it
// has, and a struct in a field is no object of its own. A map is one object with the bytes of its
// tables; entries that hold no reference count as objects of 0 bytes. Memory outside of the Go heap
// (C, mmap) is not seen, and stacks are seen only by Stack. Types declared in different functions
// under one name count as one.
//
// The package adds at most 3.86 MiB to a test binary that calls it, and next to nothing to one that
// only imports it.
package leakcheck
