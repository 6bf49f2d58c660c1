package leakcheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/refscan"
)

// descriptors makes n descriptors with the same names.
func descriptors(n int64, names ...string) (items []ledger.Item) {
	for range n {
		it := ledger.Item{Kind: ledger.Descriptor, Size: 1, State: "ESTABLISHED"}
		copy(it.Names[:], names)
		items = append(items, it)
	}
	return items
}

// resources gives the process of a world the items that make returns for one figure at each
// snapshot.
func (w *world) resources(make func(int64) []ledger.Item, figures ...int64) {
	w.Resources = func(string) (*ledger.Ledger, error) {
		return &ledger.Ledger{Items: make(figures[min(w.snapshots-1, len(figures)-1)])}, nil
	}
}

func postgres(n int64) []ledger.Item {
	return descriptors(n, "socket to 127.0.0.1:5432", "sockets to 127.0.0.1", "sockets")
}

func TestResourceSeries(t *testing.T) {
	item := func(k ledger.Kind, name string) func(int64) []ledger.Item {
		return func(n int64) (items []ledger.Item) {
			for range n {
				items = append(items, ledger.Item{Kind: k, Names: [ledger.Levels]string{name, name, name}, Size: 1})
			}
			return items
		}
	}
	bytes := func(k ledger.Kind, name string) func(int64) []ledger.Item {
		return func(n int64) []ledger.Item {
			return []ledger.Item{{Kind: k, Names: [ledger.Levels]string{name, name, name}, Size: n}}
		}
	}
	others := func(n int64) (items []ledger.Item) { // each has another port
		for i := range n {
			items = append(items, descriptors(1, "socket to 127.0.0.1:"+strings.Repeat("1", int(i+1)), "sockets to 127.0.0.1", "sockets")...)
		}
		return items
	}
	for _, tt := range []struct {
		name    string
		make    func(int64) []ledger.Item
		figures []int64 // after 10, 20, 40, 80, 160, once more 160, and then 200, 280 and 360 calls
		want    string  // "" for no leak
	}{
		{"each call", postgres, []int64{3, 13, 33, 73, 153}, "+1.00 fd/op: socket to 127.0.0.1:5432 (ESTABLISHED)"},
		{"every other call", postgres, []int64{3, 8, 18, 38, 78, 78, 98, 138, 178}, "+0.50 fd/op: socket to 127.0.0.1:5432 (ESTABLISHED)"},
		{"each call, behind what goes", postgres, []int64{60, 20, 40, 80, 160, 320}, "+1.00 fd/op: socket to 127.0.0.1:5432 (ESTABLISHED)"},
		{"a pool that fills", postgres, []int64{3, 8, 10, 10, 10}, ""},
		{"as many as were open at once", postgres, []int64{12, 13, 23, 43, 83, 83, 83, 83, 83}, ""},
		{"slower and slower", postgres, []int64{3, 13, 23, 33, 43}, ""},
		{"a pool at its limit", postgres, []int64{10, 10, 10, 10, 10}, ""},
		{"one by chance", postgres, []int64{3, 4, 4, 4, 4}, ""},
		{"other ports", others, []int64{3, 13, 33, 73, 153}, "+1.00 fd/op: sockets to 127.0.0.1 (ESTABLISHED)"},
		{"processes", item(ledger.Process, "sleep"), []int64{0, 10, 30, 70, 150}, "+1.00 child process/op: sleep"},
		{"threads", item(ledger.Thread, "threads"), []int64{8, 18, 38, 78, 158}, "+1.00 thread/op"},
		{"as many threads as were busy at once", item(ledger.Thread, "threads"), []int64{12, 14, 24, 44, 84, 84, 84, 84, 85}, ""},
		{"threads by chance", item(ledger.Thread, "threads"), []int64{8, 9, 10, 11, 12}, ""},
		{"mappings", bytes(ledger.Mapping, "anonymous memory"), []int64{0, 40960, 122880, 286720, 614400}, "+4.0 KiB/op: anonymous memory"},
		{"a mapping that grows once", bytes(ledger.Mapping, "anonymous memory"), []int64{0, 1 << 26, 1 << 26, 1 << 26, 1 << 26}, ""},
		{"stacks by chance", bytes(ledger.Stack, "stacks"), []int64{0, 32 << 10, 64 << 10, 96 << 10, 128 << 10}, ""},
		{"files of others", item(ledger.File, "/tmp/upload-*"), []int64{5, 15, 34, 75, 155}, ""},
		{"files of others, in step", item(ledger.File, "/tmp/upload-*"), []int64{5, 15, 35, 75, 155}, ""},
		{"variables", bytes(ledger.Variable, "environment variables"), []int64{5, 15, 35, 75, 155}, "+1.00 environment variable/op"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, growing(sessions, 5)...)
			w.resources(tt.make, tt.figures...)
			ft, ok, _ := w.growth(nil, tenAndTen...)
			if ok != (tt.want == "") {
				t.Fatalf("passed: %v\n%s", ok, ft.errorText())
			}
			if !ok {
				wantInOrder(t, ft.errorText(), "leakcheck: resources grow with every call of op\n", "\n"+tt.want+"\n")
			}
		})
	}
}

// Temporary files that op leaves are a leak, whatever the numbers of calls.
func TestFilesOfOp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // with digits in its name
	for name, want := range map[string]string{
		"upload-*":            "they stay when the test ends: remove them, or make them in a folder of t.TempDir",
		"TestX1/001/upload-*": "they go with the test, as all in a folder of t.TempDir, and would stay in another folder: remove them",
	} {
		name = filepath.Join(ledger.Pattern(os.TempDir()), name)
		var made int64
		w := newWorld(t, growing(sessions, 5)...)
		w.Resources = func(string) (*ledger.Ledger, error) {
			item := ledger.Item{Kind: ledger.File, Names: [ledger.Levels]string{name, "files", "temporary files"}, Size: 7 + 2*made}
			return &ledger.Ledger{Items: []ledger.Item{item}}, nil
		}
		ft := &fakeT{name: "TestLogout"}
		op := func() { made++ }
		none := func(func(string) bool) map[goroutine.Origin]goroutine.Pile {
			return map[goroutine.Origin]goroutine.Pile{}
		}
		if growth.AssertNoGrowth(w.Checker, ft, environ.Site{File: "/src/app/app_test.go", Line: 31}, op, newGrowthRequest(op, tenAndTen), growth.Source{Goroutines: none}) {
			t.Fatal("passed")
		}
		ft.end()
		wantInOrder(t, ft.errorText(), "leakcheck: resources grow with every call of op\n", "+2.00 temporary files/op: "+name+"\n", want+"\n")
	}
}

// Goroutines in system calls have a thread each, and some threads come and go besides. The
// goroutines and threads are one finding. The threads do not come with other growth of the
// program's at the same rate.
func TestThreadsOfGoroutines(t *testing.T) {
	w := newWorld(t, growing(sessions, 10, 20, 40, 80, 160)...)
	var counts []map[goroutine.Origin]goroutine.Pile
	for _, n := range []int64{10, 20, 40, 80, 160} {
		counts = append(counts, map[goroutine.Origin]goroutine.Pile{
			{Entry: "example.com/app.readDevice", CreatedBy: "example.com/app.New"}: {Count: n},
		})
	}
	w.resources(func(n int64) []ledger.Item {
		return []ledger.Item{{Kind: ledger.Thread, Names: [ledger.Levels]string{"threads", "threads", "threads"}, Size: n}}
	}, 7, 18, 40, 82, 168)
	ft, ok, _ := w.growth(counts, tenAndTen...)
	if ok {
		t.Fatal("passed")
	}
	wantInOrder(t, ft.errorText(), "+1.00 goroutine/op in example.com/app.readDevice\n", "with each: +1.07 threads/op\n")
}

// conns is a pool of n connections.
func conns(n int64) *refscan.Node {
	return global(withElems(node("example.com/app.pool", "[]*net.TCPConn", 1, 8*n, node("[*]", "*net.TCPConn", n, 8*n, node("conn.fd", "*net.netFD", n, 128*n))), n), "/src/app/pool.go", 12)
}

// A descriptor and the object that stands for it are one finding.
func TestDescriptorWithItsObject(t *testing.T) {
	w := newWorld(t, growing(conns, 3, 13, 33, 73, 153)...)
	w.resources(postgres, 3, 13, 33, 73, 153)
	w.env.Artifacts = t.TempDir()
	ft, ok, _ := w.growth(nil, tenAndTen...)
	if ok {
		t.Fatal("passed")
	}
	wantInOrder(t, ft.errorText(), "leakcheck: memory and resources grow with every call of op\n",
		"+1.00 fd/op: socket to 127.0.0.1:5432 (ESTABLISHED), with +1.00 *net.TCPConn/op", "via example.com/app.pool[*]\n",
		"descriptors: 3 → 13 → 33 → 73 → 153 after", "each belongs to a *net.netFD at example.com/app.pool[*].conn.fd\n",
		"held by the package variable example.com/app.pool (", "pool.go:12)")
	if strings.Contains(ft.errorText(), "leaks)") {
		t.Errorf("more than one finding:\n%s", ft.errorText())
	}
}

// If there are more descriptors than objects that stand for them, not each has an object.
func TestDescriptorsWithFewerObjects(t *testing.T) {
	for times, want := range map[int64]string{1: "each belongs to a ", 2: "one of 2 belongs to a ", 3: "one of 3 belongs to a ", 4: "one of 4 belongs to a "} {
		w := newWorld(t, growing(conns, 3, 13, 33, 73, 153)...)
		w.resources(postgres, times*3, times*13, times*33, times*73, times*153)
		ft, ok, _ := w.growth(nil, tenAndTen...)
		if ok {
			t.Fatal("passed")
		}
		wantInOrder(t, ft.errorText(), want+"*net.netFD at example.com/app.pool[*].conn.fd\n")
	}
}

// A resource that an Ignore names, or that belongs to ignored objects, is no finding.
func TestIgnoredResource(t *testing.T) {
	for _, pattern := range []string{"socket to 127.0.0.1:*", "app.pool"} {
		w := newWorld(t, growing(conns, 3, 13, 33, 73, 153)...)
		w.resources(postgres, 3, 13, 33, 73, 153)
		opts := append(tenAndTen[:2:2], Ignore("app.pool", "a pool"), Ignore(pattern, "in the test"))
		if ft, ok, _ := w.growth(nil, opts...); !ok || ft.logged("matched nothing") && pattern != "app.pool" {
			t.Errorf("%s: %v\n%s\n%s", pattern, ok, ft.errorText(), ft.logs)
		}
	}
	w := newWorld(t, growing(sessions, 5)...)
	w.resources(postgres, 3, 13, 33, 73, 153)
	if _, ok, _ := w.growth(nil, append(tenAndTen[:2:2], Ignore("app.debug", "not this"))...); ok {
		t.Error("passed, though the Ignore names something else")
	}
	w = newWorld(t, growing(conns, 3, 13, 33, 73, 153)...)
	w.resources(postgres, 6, 26, 66, 146, 306)
	if _, ok, _ := w.growth(nil, append(tenAndTen[:2:2], Ignore("app.pool", "a pool"))...); ok {
		t.Error("passed, though only one of two descriptors belongs to what is ignored")
	}
}

// If the system does not list resources, memory is still judged, and the log says what was not
// read.
func TestNoLedger(t *testing.T) {
	w := newWorld(t, growing(sessions, 5)...)
	w.Resources = func(string) (*ledger.Ledger, error) {
		return nil, &refscan.UnavailableError{Cause: "there is no /proc"}
	}
	ft, ok, _ := w.growth(nil, tenAndTen...)
	if !ok || !ft.logged("not all resources were looked at: refscan: there is no /proc") {
		t.Errorf("%v %q", ok, ft.logs)
	}
}

// The record has the kind of a resource.
func TestResourceRecord(t *testing.T) {
	w := newWorld(t, growing(sessions, 5)...)
	w.resources(postgres, 3, 13, 33, 73, 153)
	w.env.Artifacts = t.TempDir()
	w.growth(nil, tenAndTen...)
	r := readResult(t, filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout", "1"))
	if len(r.Bounds) != 1 || len(r.Bounds[0].Resources) != 1 {
		t.Fatalf("%+v", r.Bounds)
	}
	want := verdict.Resource{Kind: "descriptor", Name: "socket to 127.0.0.1:5432", State: "ESTABLISHED", Growth: "+1.00 fd/op: socket to 127.0.0.1:5432 (ESTABLISHED)", Added: 150}
	if b := r.Bounds[0]; b.Resources[0] != want || b.Path != want.Name || b.Type != "descriptor" || b.Growth != want.Growth || b.Objects != 150 {
		t.Errorf("%+v", b)
	}
}
