// Leakgate runs Go tests that assert how much memory may stay reachable, and fails when more does.
//
// Usage:
//
//	leakgate run [flags] [packages] [-- go test flags]
//	leakgate alloc [flags] [packages] [-- go test flags]
//	leakgate diff [flags] old new
//	leakgate doctor [flags]
//	leakgate golden list|check|prune|fmt [flags] [packages]
//	leakgate golden tighten [flags] [report]
//	leakgate merge [flags] report...
//	leakgate repeat [flags] -- command
//	leakgate scan [flags] [program]
//	leakgate symbolize [flags] profile
//	leakgate vet [flags] [packages]
//	leakgate view [flags] [report|profile]
//	leakgate completion shell
//	leakgate version
//	leakgate help [topic]
//
// The commands:
//
//	run        run tests with leakcheck assertions, as a gate
//	alloc      say what tests, benchmarks or a process allocate, by type and by line
//	diff       compare two runs, or two profiles
//	doctor     try whether leakgate works on this machine
//	golden     list, check, prune, format or tighten golden files
//	merge      make one run of the shards of a run
//	repeat     repeat a command against a running server, and find what grows there
//	scan       say what keeps memory alive in another process, once or when it jumps
//	symbolize  name the functions in a profile of native memory
//	vet        find mistakes in tests that use leakcheck
//	view       show what a run found to be retained, or a profile
//	completion print the completion for a shell
//	version    print the version of leakgate
//	help       print the manual, or a topic of it
//
// Tests say what they allow with the package github.com/leakgate/leakgate/leakcheck:
//
//	func TestSessionsAreDropped(t *testing.T) {
//		srv := app.New()
//		srv.Login().Logout()
//		leakcheck.AssertRetained(t, leakcheck.Root("example.com/app.sessions").None())
//	}
//
// Plain "go test" runs such tests too. What leakgate run adds is a gate for CI: it builds with
// debug information, so that every test binary can be read; an assertion that cannot tell fails
// instead of being skipped; nothing comes from the test cache; and it leaves profiles and reports,
// a table and an exit code that says why.
//
// Topics of help: run, exit-codes, artifacts, alloc, diff, doctor, golden, merge, formats,
// repeat, scan, symbolize, vet, view, completion, version, help.
//
// # Run
//
// The command is
//
//	leakgate run [flags] [packages] [-- go test flags]
//
// Packages are patterns as in "go test"; without any it is the package in the current directory.
// Those packages are run whose test binary links leakcheck, through a test file or through a helper
// package that one imports. They run as "go test" runs them, side by side. For example:
//
//	leakgate run ./...
//	leakgate run -run TestSessions -count 3 ./session
//	leakgate run -update ./...
//	leakgate run -base origin/main ./...
//	leakgate run -auto ./...
//	leakgate run -race -tags integration ./... -- -short -ldflags='-X main.version=1'
//
// The flags may stand before the packages and after them:
//
//	-C dir
//		Change to dir first. Packages and files that flags name are relative to it.
//	-all
//		Run all packages with tests, also those that do not use leakcheck.
//	-alloc-sites
//		Have the memory profiler record every allocation (-memprofilerate=1), so that messages and
//		profiles say where what is retained was allocated. Tests take longer.
//	-artifacts which
//		Keep the artifacts of failed assertions, of all, or of none (default failed).
//	-auto
//		Repeat the tests, examples, fuzz seeds and benchmarks of packages that know nothing of
//		leakcheck, and report what grows each time; see below.
//	-auto-time d
//		How long -auto may take for a package, after it is built (default 1m0s).
//	-base revision
//		Fail only on what the tests retain more of than at another revision, such as origin/main;
//		see below.
//	-count n
//		Run each test n times (default 1).
//	-full
//		Judge every assertion in full, by snapshots that are scanned as a whole, also where less
//		would prove that it holds. Tests take longer.
//	-github mode
//		Write annotations and the step's summary for GitHub Actions: on, off, or auto, which is on
//		where GITHUB_ACTIONS is true (default auto).
//	-isolate
//		Run each test in a process of its own, several at a time; see below.
//	-json
//		Write the event stream of "go test -json" to standard output, unchanged. All else then
//		goes to standard error.
//	-junit file
//		Write the results of all tests to file as JUnit XML.
//	-markdown file
//		Write a summary of at most 64 KB to file, for a comment on a pull request.
//	-max-artifacts n
//		Keep the artifacts of at most n assertions (default 20).
//	-max-artifacts-size size
//		Keep artifacts of at most this size together, such as 512KiB or 2GiB (default 200MiB).
//	-native
//		Name the calls that allocate memory of C code, where AssertNoGrowth finds that it grows;
//		see below.
//	-o dir
//		Write artifacts to dir (default leakgate-artifacts).
//	-race
//		Build with the race detector.
//	-run regexp
//		Run only tests that match, as in "go test".
//	-runs n
//		With n above 1: run all tests n times and calibrate the golden files (default 1).
//	-sarif file
//		Write what assertions found to file as SARIF 2.1.0, for code scanning.
//	-shard i/n
//		Run only the ith of n parts of the packages, as one of n machines; see "leakgate help
//		merge".
//	-tags list
//		Build tags, separated by commas.
//	-timeout d
//		Time limit of each test binary, as in "go test" (whose default is 10m).
//	-update
//		Rewrite the golden files that differ, instead of failing.
//	-v
//		Show the output of tests that pass, too.
//
// With -auto nobody has to write a test. The tests and examples of each package, and its fuzz tests
// with their seeds, which have to pass, are called again and again in one process, and what grows
// with each round is looked for as AssertNoGrowth does it; where something grows, halves are
// repeated until the test and subtest are known. Benchmarks are held at the heads of their loops.
// Then come the slower tests, with fewer rounds, while there is time. leakcheck comes into the
// build by a workspace and an overlay in a temporary folder: go.mod, go.sum and all other files
// stay as they are. For example:
//
//	leakgate run -auto ./...
//	leakgate run -auto -run TestLogin ./session
//
// A finding is what a package of the module keeps, one for each variable or go statement, with the
// tests that feed it, the command that shows it again, and a test to paste. What the tests
// themselves keep is none, nor what only the standard library does; dependencies' are notes. A test
// that cannot be repeated is named with the reason, and is no failure. The summary begins with how
// many were repeated, and how to cover more. If nothing at all could be repeated, or nothing could
// be told of what was, the exit code is 3. The file leakgate.ignore, in the folder of the run, has
// lines with a pattern of what is meant to grow and the reason. With -base, what grows at that
// revision too is known. The rules are in doc/auto.md.
//
// With -isolate no assertion sees what other tests left behind, or what parallel ones are at. As
// many processes run at a time as there are processors (with -- -p n: n), over all packages. Each
// starts the test binary anew, with its init functions and its TestMain, and once more to list the
// tests, which takes some tens of milliseconds a test, and more where TestMain does; a note says
// how many processes there were. Subtests run in the process of their test. A test that panics or
// ends its process fails, and the others run. -timeout is still that of a package. An assertion in
// TestMain judges each process; flags of go test that write one file for a package, such as
// -coverprofile, are refused. For example:
//
//	leakgate run -isolate ./session
//
// With -native a test whose native memory grows is asked for two more batches of calls, in which a
// library notes down what calls malloc: C functions, and the Go code that called them. go env CC
// compiles it, once; it is preloaded into test binaries, also those that a -exec after -- runs, and
// into nothing that they start. Profiles are native.base.pb.gz and native.pb.gz. Where calls cannot
// be recorded, tests run without, and each finding and a note say why: doc/native.md has the
// limits. For example:
//
//	leakgate run -native ./session
//
// With -base there is no golden file. The tests of the other revision run first, in a git worktree
// of their own, and what they retain is the measure: a test without bounds fails if it retains
// more; one with bounds, or without growth, fails unless it fails there too, with as much. A
// revision that grows on purpose says so in a golden file: a bound written as <=N or * holds. The
// working tree is compared as it is, with changes that are not committed. Assertions that the other
// revision does not have are compared with nothing, and noted. What was measured is kept in the
// user's cache directory, by commit, flags, packages and Go version, so that each revision is
// measured once. If the other revision cannot be measured, the exit code is 3. So it is if all
// passes, but a test binary ended before its tests did there, or an assertion could not tell.
//
// Everything after -- goes to "go test" as it is, after the packages; what follows -args there goes
// to the test binaries. An -ldflags among them, or in GOFLAGS, is kept and gets -s=0 -w=0 added,
// which keep the debug information. The flags -json and -C have to stand before the --.
//
// Test binaries see LEAKGATE_STRICT=1, LEAKGATE_ARTIFACTS, with -update LEAKGATE_UPDATE=1, and with
// -full LEAKGATE_FULL=1.
// Nothing is taken from the test cache, since a cached result has no artifacts; what "go build"
// caches is used as ever. With -all, packages that do not use leakcheck are linked as "go test"
// does, without debug information, unless an -ldflags of yours says otherwise.
//
// An update says of each golden file which lines it added, widened, tightened and removed. Where
// figures differ from run to run, calibrate instead:
//
//	leakgate run -runs 10 ./cache
//
// compares with no golden file, and if all runs pass writes each with the tightest bounds that hold
// for all of them: a figure that was always the same is exact, one that was not becomes "<=" the
// largest, with a comment that says what was seen. Patterns, comments and the bound "*" stay. A run
// that fails ends it, and nothing is written.
//
// At the end come the findings: each leak has a line with the beginning of its fingerprint. Then a
// table has a row for each assertion, in 100 columns. LIVE is what the collector found alive in the
// whole test binary; RETAINED, what roots within the assertion's scope keep alive, in as many
// OBJECTS; WORST BOUND, the bound that is broken the most or, where none is, the nearest to it. Of
// an assertion that passed it begins with the way in which that was found: "in full", by scans, or
// by something cheaper that leaves no such figures, as "by counters" (see -full). With -v nothing
// is cut, and there are BEFORE, what was alive at a baseline; TYPED, how much of RETAINED has a
// known type; PAUSE, how long the world stood still for the snapshot; and PASSED, the way in which
// an assertion passed.
//
// On a terminal the last line shows how far the run is; elsewhere a line on standard error says it
// every 10 seconds. NO_COLOR set to anything, or TERM=dumb, turns colours off; TERM=dumb also the
// status line.
//
// Ctrl-C (or SIGTERM) is passed on to "go test" and its children, which end; then what is there is
// gathered and shown as always. A second one kills them. What ended because of it is no failure,
// but what was not run cannot be told, so the exit code of an interrupted run is never 0.
//
// # Exit codes
//
//	0  every assertion passed
//	1  a retention regression: a bound is broken, or a golden file differs
//	2  the command line is wrong, a package does not load, build or pass go vet's checks, or an
//	   assertion is wrong itself: it names a root that does not exist, say, or a golden file with bad syntax;
//	   or there is nothing to check: no assertion ran
//	3  could not tell: an assertion says unknown, a base cannot be measured, a record could not be read,
//	   -auto could repeat nothing, or the run was interrupted
//	4  tests failed for other reasons
//
// Where several meet, the first of 2, 4, 1, 3 is the exit code: with a build error, or an assertion
// that checks nothing, the picture is not whole, and what a broken test retains says little.
//
// A failed test is a regression, or could not tell, if an assertion of its own says so; a failed
// parent of failed subtests is explained by them. A test that fails for what it retains and for
// something else besides counts as a regression, since "go test" does not say which. A test binary
// that ends before its tests do (panic, time-out, os.Exit, a signal) is code 4, also where it ends
// with status 0 and "go test" says ok, but the assertions that it did make still count. A test that
// closes the standard output, or fails after it put another file into os.Stdout, looks the same. An
// assertion that failed in a test that passed counts, too.
//
// A failure that the base has too is "known" in the table, and changes no exit code but 1: an
// assertion that is wrong itself makes it 2 as ever.
//
// A gate that checks nothing is not green: if no package matches, or none of them uses leakcheck,
// the code is 2.
//
// # Artifacts
//
// The artifacts directory, leakgate-artifacts or what -o names, has
//
//	leakgate.json          the whole run: packages, assertions with bounds and figures, totals, exit code
//	leak.html              the same as a page for a browser, with what is retained: see leakgate help view
//	tests/PKG/TEST/N/      what the Nth assertion of a test left
//
// In the latter is result.json, the assertion's record, and, if it failed, what leakcheck writes
// for it:
//
//	trace.txt              the message at full length
//	retained.pb.gz         what is retained, by path from the root
//	heap.pb.gz             the heap profile: where it was allocated
//	heap.base.pb.gz        the heap profile to compare that with, if there is one
//	allocations.pb.gz      what is retained, by where it was allocated; the label "retained" has the path
//	native.pb.gz           with -native, the calls that allocate what C code has more and more of
//	native.base.pb.gz      the same one batch of calls earlier
//	goroutine.pb.gz        the goroutines
//	stack.pb.gz            their stack memory, as "leakgate view" shows it
//	report.json            the scan's report
//	report.base.json       that of the baseline, or of the first snapshot of AssertNoGrowth
//	golden.txt             what the golden file would be
//
// Profiles are for "go tool pprof". "go tool pprof -base heap.base.pb.gz heap.pb.gz" shows what was
// left between the two: since the baseline of the assertion (Since), or since the first snapshot of
// AssertNoGrowth. Without either, heap.pb.gz alone shows what was left since the start of the test
// binary. Each is that of a completed garbage collection, so neither lags behind, and leakgate's
// own memory is taken out. Heap profiles are samples, one in 512 KiB allocated, and so are the
// places of allocation in messages and in allocations.pb.gz; for all of them, which costs time, run
//
//	leakgate run -alloc-sites ./session
//
// Beyond -max-artifacts and -max-artifacts-size, files are dropped and a note says so; failures
// have the first claim. A record, and what the summary shows, is never dropped. Under Bazel, where
// TEST_UNDECLARED_OUTPUTS_DIR is set, the artifacts directory lies there unless -o is given.
//
// A finding in leakgate.json, and a result in SARIF, has a fingerprint: of the root, the path and
// the type, with no addresses, lines or closures' numbers, so that it is the same for the same leak
// in any build.
//
// In leakgate.json paths have slashes; those of artifacts are relative to the artifacts directory,
// those of source files to the root of the repository. "schema" is the version of its form, which
// doc/leakgate.schema.json describes; within a version, fields may be added.
//
// A run begins by removing what the last one left there: the folder tests and leakgate.json. It
// removes nothing else, and refuses a directory with files in it that leakgate did not make. The
// directory has a .gitignore of its own, so that it does not get committed. Two runs at a time need
// a directory each: the second to ask for the same one ends with 2.
//
// # Alloc
//
// The command is
//
//	leakgate alloc [flags] [packages] [-- go test flags]
//	leakgate alloc -pid number [flags]
//
// It says what the tests and benchmarks of packages allocate: a table by Go type, with exact
// numbers of objects from the execution tracer, and one by line, from the memory profiler, which
// records each allocation. Both are of one run of each test binary. The tests need not know of
// leakgate, and no file is written but -o. For example:
//
//	leakgate alloc
//	leakgate alloc -run TestLogin -top 5 ./session
//	leakgate alloc -run '^$' -bench . -o allocs.pb.gz
//	leakgate alloc -base HEAD -count 4 -run TestLogin
//	leakgate alloc -pid 1234 -for 1m
//
// A line is the innermost one of the module under test on a stack; below it are functions of other
// modules that allocated for it. Tests run 5 to 40 times slower than with go test.
//
// With -base it is a gate: the tests that are the same at another revision run there and here, in
// turn, and the exit code is 1 if a type, or all together, are allocated more. What is the same in
// all runs of a revision counts exactly; what varies has to differ by benchstat's test. What
// package testing itself allocates is left out, unless there are examples or a TestMain. Findings
// go the ways that those of "leakgate run" go.
//
// With -pid it says what a process allocates meanwhile, that need not know of leakgate: what its
// memory profiler records is read twice. The process is neither stopped nor changed; the rights are
// those of "leakgate scan -pid". Figures are estimates, with their error, unless the process runs
// with GODEBUG=memprofilerate=1. Types are read from the code at the calls. Objects below 16 bytes
// without pointers count once a block of 16 bytes, which they share.
//
// The flags may stand before the packages and after them:
//
//	-C dir
//		Change to dir first. Packages and files that flags name are relative to it.
//	-allow percent
//		With -base: how much more may be allocated, of each type and in all (default 5). 10
//		objects, or 1 KiB, are always allowed.
//	-base revision
//		Compare with what the same tests allocate at a revision of the repository.
//	-bench regexp
//		Run these benchmarks, too. Without -run, tests run as well, as with go test.
//	-benchtime time
//		How long each benchmark runs (default 100x), so that two runs do the same.
//	-count n
//		With -base: run the tests so often at each revision (default 6); it takes 4.
//	-exe file
//		With -pid: the unstripped file of the same build.
//	-for d
//		With -pid: how long to count (default 30s), or until an interrupt.
//	-github mode
//		With -base: as for "leakgate run" (default auto).
//	-json
//		Print the figures as JSON, all of them; with -base in the form of leakgate.json.
//	-junit file
//	-markdown file
//		With -base: as for "leakgate run".
//	-o file
//		Also write what was allocated at each stack to file; for "go tool pprof", with the label
//		"type".
//	-pid number
//		Count what this process allocates: linux/amd64 and linux/arm64.
//	-run regexp
//		Run only tests that match.
//	-sarif file
//		With -base: as for "leakgate run".
//	-tags list
//		Build tags, separated by commas.
//	-timeout d
//		The time limit of each test binary (default 10m0s).
//	-top count
//		Print so many rows of each table (default 20); 0 is all.
//
// The exit code is 0 if the figures are there, 1 if more is allocated than at the base, 2 for a
// wrong command line or if tests do not build, 3 if a package's figures, or those by type, could
// not be told, or nothing could be compared, 4 if tests failed.
//
// # Diff
//
// The command is
//
//	leakgate diff [flags] old new
//
// It compares two runs, each given as its leakgate.json or the folder with it, or two profiles. For
// example:
//
//	leakgate diff main/leakgate-artifacts leakgate-artifacts
//	leakgate diff -fail old.json new.json
//	leakgate diff -o diff.pb.gz old/retained.pb.gz new/retained.pb.gz
//
// For runs the table has a row for each assertion: what was retained within its scope, in objects
// and bytes, before and after, and where the verdicts differ those; below it a row for each of its
// bounds. With "leakgate run -count n" a figure is the median with the largest distance from it
// (±), and "~" says that the ranges overlap: nothing changed. Figures are counts, so nothing else
// needs a statistic.
//
// For profiles there is a row for each path that differs (retained.pb.gz), or for each function
// that allocates (a heap profile), the largest change in bytes first.
//
// The flags may stand before the arguments and after them:
//
//	-fail
//		Exit with 1 if something grew.
//	-o file
//		Write the difference as a profile to file; of runs it is that of all assertions which have
//		a profile in both.
//	-top count
//		Print so many rows (default 20); 0 is all.
//
// The exit code is 0, or 2 if something cannot be read.
//
// # Doctor
//
// The command is
//
//	leakgate doctor [flags]
//
// It tries leakgate on this machine: it writes a module with a test that has known leaks to a
// temporary folder, and runs it as go test does, and with debug information by both ways of taking
// snapshots (a fork of the process, and a copy in place). It says what the system and the toolchain
// are, whether each verdict was right, how long a snapshot let the test stand still ("pause"), how
// long it took, and what the audit of the scan says. That is what a report of an error is to have.
//
//	leakgate doctor
//
// The flags:
//
//	-C dir
//		Use the toolchain that the module in dir selects.
//	-json
//		Print what was found as JSON.
//	-timeout d
//		The time limit for all of it (default 1m). What is not known by then is said.
//
// The exit code is 0 if leakgate works with go test here, 1 if any verdict was wrong, 2 for a wrong
// command line or where there is no go command, 3 if go test's verdicts could not be told.
//
// # Golden
//
// The commands are
//
//	leakgate golden list|check|prune|fmt [flags] [packages]
//	leakgate golden tighten [flags] [report]
//
// They keep the golden files of packages, testdata/leakcheck/*.golden, in order. Packages are
// patterns as in "go test"; without any it is the package in the current directory. For example:
//
//	leakgate golden list ./...
//	leakgate golden check ./...
//	leakgate golden prune -y ./...
//	leakgate golden fmt ./...
//	leakgate golden tighten
//	leakgate golden tighten -C app leakgate-artifacts/leakgate.json
//
// List prints the files: how many lines each has, the most that it allows in all, and the test that
// it belongs to.
//
// Check reads the files and prints what is wrong: syntax, a form that an update would not write, a
// file that belongs to no test. It runs nothing.
//
// Prune removes the files that belong to no test any more. It first says which and why; then it
// asks, on a terminal, or wants -y. A file belongs to the test function that its name begins with;
// the names of subtests are made when tests run, so a subtest's file stays as long as the test has
// its function. A file with a name of its own (leakcheck.Golden) stays as long as a test file of
// the package has that name as a string. Build constraints do not matter.
//
// Fmt rewrites files that were edited by hand into the form that updates write: sorted and aligned.
//
// Tighten lowers bounds to what a run has seen, and never raises one or adds a line. It takes the
// run's report, leakgate.json or the folder with it (default leakgate-artifacts). With "leakgate
// run -count 5" before, the highest of five runs counts. What a human wrote as <=N or * stays, and
// so does a file whose test failed or could not tell.
//
// With CI set in the environment nothing is written: prune, fmt and tighten then say what they
// would do.
//
// The flags may stand before the packages and after them:
//
//	-C dir
//		Change to dir first: packages and the default report are relative to it.
//	-y
//		Remove without asking (prune only).
//
// The exit code is 0 if all is well or was made so, 1 if something is left to do, 2 if a command
// line or a file cannot be read, or if there are no golden files.
//
// # Merge
//
// The command is
//
//	leakgate merge [flags] report...
//
// It makes one run of the shards of a run: its artifacts directory, its table and its exit code are
// those that one machine would have left. A report is a leakgate.json, or the folder with it. For
// example, on three machines and then on a fourth that has their artifacts:
//
//	leakgate run -shard 1/3 -o shard-1 ./...
//	leakgate run -shard 2/3 -o shard-2 ./...
//	leakgate run -shard 3/3 -o shard-3 ./...
//	leakgate merge shard-1 shard-2 shard-3
//
// Packages are dealt out in turn, in the order of their import paths, so every shard must be given
// the same patterns and flags at the same revision; a shard for which nothing is left passes. A
// shard that is missing makes the merged run one that could not tell. Reports that are not of one
// run are refused. Shards may come from anywhere: nothing is read outside of their folders,
// wherever links in them lead.
//
// The flags may stand before the reports and after them; -github, -junit, -markdown and -sarif are
// those of "leakgate run", so that the shards may be run with -github off, and reported once:
//
//	-github mode
//		On, off or auto (default auto).
//	-junit file
//	-markdown file
//	-o dir
//		Write the merged artifacts to dir (default leakgate-artifacts).
//	-sarif file
//
// The exit code is that of one run; see "leakgate help exit-codes".
//
// # Formats
//
// The summary on the terminal and leakgate.json are always written. Beside them there are:
//
//	-junit file     JUnit XML: a suite for each package, a case for each test. A regression is a failure;
//	                what could not be told, is wrong, did not build or did not end is an error.
//	-sarif file     SARIF 2.1.0: a result for each leak, at most 5,000, where its root is declared if
//	                that is in the repository, else where the assertion is. A leak that several tests find is
//	                one result; its partial fingerprint, leakgate/v1, is that of leakgate.json.
//	-markdown file  A page of at most 64 KB, to be posted as a comment. Its first line, <!-- leakgate -->, is
//	                what a script can find its own comment by.
//	-github on      Annotations, at most 10 of errors and 10 of warnings, as workflow commands among the
//	                output, and the page of -markdown, of at most 1 MB, in the step's summary. It is on by
//	                itself in GitHub Actions.
//
// Paths in them are relative to the root of the repository: the nearest folder above with a .git,
// else the one that the run is in. A file is written whole or not at all. Where one cannot be
// written, the exit code is 2.
//
// # Repeat
//
// The command is
//
//	leakgate repeat -pid number [flags] -- command
//	leakgate repeat -start line [-ready address] [flags] -- command
//	leakgate repeat -url address [flags] -- command
//
// It repeats a command that asks a Go program for something, and finds what grows in that program
// with each call, as leakcheck.AssertNoGrowth does in a test. The program need not know of
// leakgate. For example:
//
//	leakgate repeat -pid 1234 -- curl -s localhost:8080/login
//	leakgate repeat -start './server -addr :8080' -ready http://localhost:8080/healthz -- ./scenario.sh
//	leakgate repeat -pid 1234 -calls 100 -- hey -n 100 http://localhost:8080/
//	leakgate repeat -url http://localhost:6060/debug/retained -- ./scenario.sh
//
// What others make the program do meanwhile counts, too. The report, the page and the profiles are
// those of "leakgate run", in the artifacts directory.
//
// The flags:
//
//	-base report
//		Let pass what an earlier run found, whose artifacts directory or leakgate.json this is, at
//		the rate that it had then. What is new, or grows faster, fails.
//	-calls count
//		The command makes so many calls (default 1): rates are for each of them.
//	-exe file
//		The unstripped file of the same build, if the process runs a stripped one.
//	-github mode
//		Write annotations and a summary for GitHub Actions, as "leakgate run" does (default auto).
//	-junit file
//		Write what was found to file, as JUnit's XML.
//	-markdown file
//		Write what was found to file, as Markdown.
//	-o directory
//		The artifacts directory (default leakgate-artifacts).
//	-pid number
//		Look into a process that runs. It stands still for some milliseconds, five times as a rule,
//		and notices nothing: see "leakgate help scan".
//	-ready address
//		With -start: what was started can be called when this URL answers without an error, or this
//		host:port takes a connection. Without it, half a second is left.
//	-sarif file
//		Write what was found to file, as SARIF 2.1.0.
//	-start line
//		Start a server by this command line for a shell, and end it at the end.
//	-timeout duration
//		Do not take longer (default 1m0s). What is left of it sizes the batches of calls. A command
//		that has not returned by then is ended.
//	-url address
//		Ask a process that serves refscanhttp.Handler at this address, in place of one that may be
//		traced. It counts all goroutines if it serves net/http/pprof, too. Descriptors, threads,
//		child processes and C's memory are not known then.
//
// The exit code is 0 if nothing grows, 1 if something does, 2 for a wrong command line and for a
// process that is not there, 3 where it could not tell, with the cause, and 4 if the command or
// what was started failed. doc/process.md has more.
//
// # Scan
//
// The command is
//
//	leakgate scan -pid number [flags]
//	leakgate scan -pid number -watch [flags]
//	leakgate scan -core file [flags] program
//
// It says what keeps memory alive in a Go process that need not know of leakgate: one that runs, or
// one that has left a core file, as the kernel writes it when a program ends with
// GOTRACEBACK=crash, or as gcore or the dump command of delve makes it. For example:
//
//	leakgate scan -pid 1234
//	leakgate scan -pid 1234 -json before.json
//	leakgate scan -pid 1234 -base before.json -fail
//	leakgate scan -pid 1234 -watch -spike 20%,+64MiB
//	leakgate scan -core core.1234 -o retained.pb.gz ./server
//
// A process stands still for some milliseconds, in which it is made to fork; its copy, which never
// runs, is read. The process sees no signal, no interrupted system call and no child of its own.
// That needs Linux (amd64, arm64) and the right to trace it, as debuggers do. The program of a core
// file is the file that the process ran, or the unstripped file of the same build.
//
// With -watch, leakgate reads how much the garbage collector of the process finds alive, and when
// that jumps above what is usual for one collection, scans at once. The process is not stopped to
// be watched: the counters are read out of its memory, which costs this command some microseconds
// each time. It stands still at a spike, and for a snapshot to compare with, which is taken when it
// is known what is usual, and then once an hour. Usual is the median of the last nine collections,
// and is known after three. It ends when the process does, when it is interrupted, or after -max
// spikes.
//
// The flags:
//
//	-audit
//		With -pid: wait for the process's next garbage collection, up to two minutes and a half,
//		and see whether it found alive what the scan did not. The process is stopped twice then.
//	-base report
//		Compare with an earlier scan of the program, whose -json report this is: say what has
//		grown since, how many objects and bytes in a second, and where.
//	-core file
//		Look into a core file.
//	-every duration
//		With -watch: leave at least so much time between two spikes that are looked at (default
//		1m0s). What is left out is counted.
//	-exe file
//		With -pid: the unstripped file of the same build, if the process runs a stripped one.
//	-fail
//		With -base: end with exit code 1 if something has grown.
//	-json file
//		Write the report to file, as JSON, for -base of a later scan.
//	-max count
//		With -watch: end after so many spikes (default 24).
//	-nobase
//		With -watch: take no snapshot to compare with. Then it is not told apart what is more than
//		usual.
//	-nofork
//		With -pid: make the process stand still until it has been read, instead of making it fork.
//		So it is, too, where a seccomp filter or a limit forbids the fork.
//	-o file
//		Write a profile to file: what is retained, by path from the root, for "go tool pprof" and
//		"leakgate view". With -watch, file is a folder, and each spike has a folder in it, with the
//		text, the report, that of the snapshot that it is compared with, and profiles.
//	-pid number
//		Look into a process that runs.
//	-poll duration
//		With -watch: read the counters so often (default 10ms). Of the collections that end between
//		two readings only the last is looked at; the others are counted.
//	-spike threshold
//		With -watch: how much more than usual is a spike (default 20%,+64MiB): a share, a size, or
//		both, that have to be exceeded then. Less than 1 MiB never is.
//	-top count
//		Print so many rows (default 20), those that hold most; 0 is all.
//	-watch
//		With -pid: look again and again, and scan when memory jumps.
//
// What is printed begins with how exact it is: the phase of the garbage collector, how many frames
// hold what may be no references, and the audit. Cum objects and cum bytes are those of the node
// and all below it; retained is what cutting that node alone would free.
//
// The exit code is 0; 1 with -fail if something has grown, and with -watch if there was a spike; 2
// for a wrong command line, and a process or file that is not there or cannot be read as one; 3
// where it could not tell, with the cause, and with -watch if there were too few collections.
// doc/process.md has more.
//
// # Symbolize
//
// The command is
//
//	leakgate symbolize [flags] profile
//
// It names the functions in a profile of memory that C, C++ or Rust code allocated, which has
// addresses only: the texts that the allocators gperftools, tcmalloc and jemalloc write, profiles
// of pprof's format, what "pprof -raw" prints of them, and collapsed stacks. It prints where names
// come from and who holds most. For example:
//
//	leakgate symbolize -o named.pb.gz app.0001.heap
//	leakgate symbolize -html heap.html jeprof.1234.0.f.heap
//	leakgate symbolize -perf-map /tmp/perf-1234.map -collapsed stacks.txt raw.txt
//	leakgate symbolize -jit core.1234 -perf-map /tmp/perf-1234.map -o named.pb.gz app.0001.heap
//
// Names are those of the symbols in programs, in shared libraries and in their separate debug
// files, demangled, each as long as its symbol says; lines and inlined functions come from DWARF. A
// file counts only if it has code where the memory map says so, and the build ID that the profile
// or the core file has. An address without a symbol is shown by its mapping and its place in it,
// never as a neighbour; and anonymous memory stays a mapping of its own.
//
// The flags may stand before the profile and after it:
//
//	-collapsed file
//		Write the stacks with names to file, one a line, as FlameGraph's scripts do, by the values
//		of the profile's default type.
//	-debug folders
//		Look for separate debug files there, by build ID and .gnu_debuglink (default
//		/usr/lib/debug).
//	-html file
//		Write a page with a flame graph and a table to file, which needs nothing else to be shown.
//	-jit file
//		Names of generated code: a core file of the process, as gcore writes it, in which the
//		objects are found that it registered for debuggers (gdb's JIT interface, as LLVM has it);
//		or a folder with such objects. A core file also has build IDs, and a memory map for a
//		profile without one.
//	-maps file
//		The process's /proc/PID/maps, instead of the memory map in the profile.
//	-o file
//		Write the profile with names to file, for "go tool pprof" and "leakgate view".
//	-perf-map file
//		Names of generated code: the /tmp/perf-PID.map that the program left for perf, as node
//		--perf-basic-prof does.
//	-root folder
//		Look for programs and libraries below this folder, as where a container's files are.
//	-top count
//		Print so many rows (default 20), those that hold most; 0 is all.
//
// The exit code is 0; 2 for a wrong command line, or a file that cannot be read or written; 3 if
// not one address could be named, with the causes. doc/symbolize.md has more.
//
// # Vet
//
// The command is
//
//	leakgate vet [flags] [packages]
//
// It finds mistakes in tests that use leakcheck, without running them: AssertRetained,
// AssertNoGrowth or AssertPeak in a parallel test with nothing that keeps other tests' memory out;
// a bound on a variable, function or type that its package does not have; AssertCollected on an
// object that the test still uses; a golden file that is missing, and one that belongs to no test;
// leakcheck imported by code that is no test. Packages that have nothing to do with leakcheck are
// not looked at. For example:
//
//	leakgate vet ./...
//	leakgate vet -fix ./...
//
// The flags may stand before the packages and after them:
//
//	-C dir
//		Change to dir first; packages are relative to it.
//	-fix
//		Correct what is safe to correct: names of variables, functions and types for which one
//		comes near.
//	-tags list
//		Build tags, separated by commas.
//
// The go command can run the same checks beside others, with "go vet -vettool=$(which leakgate)
// ./...", and golangci-lint as the module plugin
// github.com/leakgate/leakgate/cmd/leakgate/leakvet/golangcilint.
//
// The exit code is 0 if nothing was found, 1 if something was, 2 if packages do not load.
//
// # View
//
// The command is
//
//	leakgate view [flags] [report|profile]
//
// It shows what assertions found to be retained, on a page: what is broken, with its source, all
// assertions, the worst first, and what each found as an icicle and as a table, with a search and
// comparisons. Without an argument it is the last run in leakgate-artifacts. Any profile will do as
// well, a file or the address of a server, in any form that leakgate symbolize reads: of what is
// retained, of the heap, or of goroutine stacks as the package
// github.com/leakgate/leakgate/stackprof has it. The page of a run is also the file leak.html in
// its artifacts. For example:
//
//	leakgate view
//	leakgate view -text -test TestSessions
//	leakgate view -base main-artifacts -o leak.html leakgate-artifacts
//	leakgate view -text http://localhost:6060/debug/pprof/stackmem
//	leakgate view -growth cpu.pb.gz
//
// The flags may stand before the argument and after it:
//
//	-base report
//		Compare with an earlier run: its leakgate.json, or the folder with it.
//	-growth
//		The argument is a CPU profile: show the functions whose calls made stacks grow while it was
//		taken. It has a sample for each 10 ms of copying stacks, one in some thousand goroutines
//		that grow: no sample does not mean no growth.
//	-http address
//		Serve at this address of this machine; port 0 is any free one (default localhost:0).
//		pprof's web interface for the first profile is below /ui/.
//	-o file
//		Write a file instead of serving: file.html, the page; file.svg, a flame graph; or
//		file.pb.gz, the profile. The first two need nothing else to be shown.
//	-objects
//		Show objects instead of bytes in pprof and in the flame graph.
//	-test text
//		Show the assertions whose package and test have text in their names, and write their trees
//		before serving.
//	-text
//		Write findings and trees to standard output, in 80 columns, and serve nothing. Figures are
//		of a node and all below it (cum). Where there is a baseline, or -base, trees say what came
//		since (+), most of it first. Roots of the runtime and the standard library are one line. Of
//		a profile it is a table of functions, with what they have themselves (flat) and with their
//		callees (cum).
//	-top count
//		Print so many roots or functions with -text (default 20); 0 is all, and folds nothing.
//
// The exit code is 0; 2 if the command line is wrong or something cannot be read; 3 if no sample
// tells of growth with -growth.
//
// # Completion
//
// The command is one of
//
//	leakgate completion bash
//	leakgate completion fish
//	leakgate completion zsh
//
// It prints the completion of commands and flags for that shell. The first comment in it says how
// to install it.
//
// # Version
//
//	leakgate version
//
// prints the version of leakgate, the Go version that built it, and its system. With a build from a
// checkout the revision is there too.
//
// # Help
//
//	leakgate help [topic]
//
// prints the manual's overview, or one topic of it. The manual is this command's package comment,
// so "go doc github.com/leakgate/leakgate/cmd/leakgate" prints the whole.
package main
