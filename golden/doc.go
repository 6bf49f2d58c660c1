// Package golden reads, compares, updates and writes golden files of retention bounds: what a
// program may keep in memory, from where, one line a path. The files are made to be reviewed in
// pull requests; a diff shows which path grew and who accepted it.
//
// The shortest use:
//
//	f, err := golden.Read("testdata/leakcheck/TestLogout.golden")
//	if err != nil {
//		return err // a *SyntaxError says file:line:column and what was expected
//	}
//	for _, d := range f.Compare(measurements) {
//		if d.Failure() {
//			t.Error(d)
//		}
//	}
//
// # The file
//
//	leakgate golden v1
//	# objects         bytes  path                                              type
//
//	        2            32  "example.com/app.Set[struct { X int }].m"         -
//	        *             *  example.com/app.cache.**                          *  # evicted by size, tested elsewhere
//
//	# One session per connected user; the load test keeps up to 100.
//	        1      4096~10%  example.com/app.sessions                          map[string]*example.com/app.Session
//	    <=100       <=64KiB  example.com/app.sessions[*]                       *example.com/app.Session
//	        1            48  example.com/app.srv.onClose                       func(*example.com/app.Session) error
//
// The first line is the header with the version of the format. Every other line is blank, a
// comment, or an entry of four columns, separated by spaces or tabs: the bound on objects, the
// bound on bytes, the path, the type. The type is the last column and may contain spaces.
//
// # Bounds
//
//	12        exactly 12, and fewer is welcome: see Compare
//	<=100     at most 100
//	4096~10%  4096, give or take 10 %
//	*         anything
//
// A bound on bytes may use the units KiB, MiB, GiB and TiB. Limits (<=) are written with the
// largest unit that is exact, figures always as plain integers, so that a small change is a small
// diff.
//
// # Paths and types
//
// Two stars in a path stand for any text, also none, and ".**" at its end for the path before it
// and everything below: "example.com/app.cache.**" covers "example.com/app.cache",
// "example.com/app.cache.lru" and "example.com/app.cache[*].key", not "example.com/app.cacheSize".
// A single star is just a star, as in "[*]" and "(*T)". The type * stands for every type and - for
// an unknown one.
//
// What is measured counts towards one entry only, the most specific: a path written out wins over a
// pattern, among patterns the one with more literal text, then a type written out over *. An entry
// that covers several measurements bounds their sum.
//
// Paths need not be on the heap: leakcheck records goroutines as "goroutine:" and the function that
// they started in, with the type "created by" and the function with the go statement, and functions
// with much stack as "stack:" and their name, with the type "frame". The path after "retained:" is
// on the heap; its figures are what cutting it would free. In files of what an operation allocates,
// "op" is one call of it, and the type is that of the objects; "op.untyped" and the like are
// objects of which no type is known.
//
// # Grammar
//
// In the notation of the Go specification. Text is UTF-8; CRLF is accepted and a byte order mark at
// the start is skipped, LF without a mark is written.
//
//	File    = Header { EOL Line } [ EOL ] .
//	Header  = "leakgate" SP "golden" SP "v" digits [ SP Comment ] .
//	Line    = [ SP ] ( Comment | Entry | ) [ SP ] .
//	Entry   = Objects SP Bytes SP Path SP Type [ SP Comment ] .
//	Objects = count [ "~" digits "%" ] | "<=" count | "*" .
//	Bytes   = size [ "~" digits "%" ] | "<=" size | "*" .
//	Path    = bare | quoted .
//	Type    = "*" | "-" | bare { SP bare } | quoted .
//	Comment = "#" { any character but a line end or a control character } .
//	count   = digits .
//	size    = digits [ "KiB" | "MiB" | "GiB" | "TiB" ] .
//	digits  = "0" … "9" { "0" … "9" } .
//	bare    = printable characters without spaces; the first is not # or " .
//	quoted  = an interpreted string literal of Go .
//	SP      = ( " " | "\t" ) { " " | "\t" } .
//	EOL     = "\n" | "\r\n" .
//
// A count or size is at most 9223372036854775807, a tolerance at most 999 %. No two entries have
// the same path and type.
//
// # Updates
//
// Update rewrites what no longer fits and nothing else. A bound that still holds stays as a human
// wrote it; one that does not hold gets the new figure and keeps its form (<=100 becomes <=120,
// 4096~10% becomes 5000~10%). Paths that are new and not covered by a pattern are added. Entries
// that match nothing any more are removed, unless their bound on objects is <=N or *: those allow
// "nothing", so they still hold, stay, and are reported as unused.
//
// Entries are sorted by path, each followed by what lies below it. A comment line belongs to the
// entry below it: it moves with it, survives when the bound changes, and goes when the entry is
// removed. A file without entries says so in the comment line "# nothing is retained", which goes
// with the first entry. A comment that is followed by a blank line is not one entry's own and is
// never removed; at the top of the file it stays at the top. Runs of blank lines become one.
//
// # Limits
//
// The package knows nothing of heaps: paths and types are text to it. It does not tell a path that
// was renamed from one that is gone and another that is new. It sees object counts and bytes, not
// which objects they are.
package golden
