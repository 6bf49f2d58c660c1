package leakcheck_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

type cutBlob struct {
	_    [4 << 10]byte
	next *cutBlob
}

// cutOwn holds two blobs alone, and one that cutLent holds, too.
var (
	cutOwn  []*cutBlob
	cutLent []*cutBlob
)

func fillCut(t *testing.T) {
	needSnapshots(t)
	shared := &cutBlob{}
	cutOwn, cutLent = []*cutBlob{{next: &cutBlob{}}, shared}, []*cutBlob{shared}
	t.Cleanup(func() { cutOwn, cutLent = nil, nil })
}

// A recordingT is a test that may fail without failing the one that runs it.
type recordingT struct {
	name         string
	errors, logs []string
}

func (t *recordingT) Helper()                   {}
func (t *recordingT) Name() string              { return t.name }
func (t *recordingT) Errorf(f string, a ...any) { t.errors = append(t.errors, fmt.Sprintf(f, a...)) }
func (t *recordingT) Logf(f string, a ...any)   { t.logs = append(t.logs, fmt.Sprintf(f, a...)) }

func wantParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

func TestMaxRetained(t *testing.T) {
	fillCut(t)
	own, lent := leakcheck.Root("leakcheck_test.cutOwn"), leakcheck.Root("leakcheck_test.cutLent")
	both := leakcheck.Root("leakcheck_test.cut*")
	blobs := leakcheck.Type[*cutBlob]()

	// The backing arrays have 16 and 8 bytes, a blob has 4,864: its size class. The shared blob is
	// charged to cutLent, which comes first, and is retained by neither.
	leakcheck.AssertRetained(t,
		own.MaxRetainedObjects(3).MaxRetainedBytes(2*4864+16),
		lent.MaxObjects(2).MaxRetainedObjects(1).MaxRetainedBytes(8),
		both.MaxRetainedObjects(3),
		leakcheck.Path("leakcheck_test.cutOwn[*]").MaxRetainedObjects(2).MaxRetainedBytes(2*4864),
		blobs.MaxObjects(3).MaxRetainedObjects(3).MaxRetainedBytes(3*4864),
	)

	ft := &recordingT{name: "TestCut"}
	if leakcheck.AssertRetained(ft, own.MaxRetainedBytes(5000), lent.MaxRetainedObjects(0), both.MaxRetainedObjects(2)) {
		t.Fatal("passed")
	}
	message := strings.Join(ft.errors, "\n")
	wantParts(t, message, "(3 of 3 bounds)",
		`Root("leakcheck_test.cutOwn").MaxRetainedBytes(5000)`+"\n",
		"found 3 objects, 9.5 KiB; cutting it would free 3 objects, 9.5 KiB: 4.6 KiB more than allowed\n",
		"cutOwn  []*leakcheck_test.cutBlob, frees 9.5 KiB\n",
		"[*]  *leakcheck_test.cutBlob, frees 9.5 KiB\n",
		"found 2 objects, 4.8 KiB; cutting it would free 1 object, 8 B, not 1 object, 4.8 KiB that something else holds, too: 1 object more than allowed\n",
		"cutLent  []*leakcheck_test.cutBlob, frees 8 B, not 4.8 KiB shared\n",
		"cutting one of the 2 paths would free up to 3 objects, 9.5 KiB: 1 object more than allowed\n",
	)
}

type (
	cutFolder struct{ files []*cutFile }
	cutFile   struct {
		folder *cutFolder // the folder of the file, or a folder in the file
		pages  *[1000]*int
	}
	cutDeep struct {
		next  *cutDeep
		pages *[1000]*int
	}
)

var (
	cutFolders []*cutFolder
	cutOpen    *cutDeep // also holds the pages of a file, on a longer path
)

// The objects of a type are cut together: objects that only several of them hold are freed, and
// objects that lie in another one are not counted twice.
func TestMaxRetainedByType(t *testing.T) {
	fillCut(t)
	common := &cutFile{pages: new([1000]*int)}
	inner := &cutFile{pages: new([1000]*int)}
	opened := &cutFile{pages: new([1000]*int)}
	cutFolders = []*cutFolder{{[]*cutFile{common, {folder: &cutFolder{[]*cutFile{inner}}}}}, {[]*cutFile{common, opened}}}
	cutOpen = &cutDeep{pages: opened.pages}
	for range 5 {
		cutOpen = &cutDeep{next: cutOpen}
	}
	common, inner, opened = nil, nil, nil
	t.Cleanup(func() { cutFolders, cutOpen = nil, nil })

	// The folders (24 bytes) with their arrays of files (16, 16, 8), the files (16) and the pages
	// (8,192) of two of them.
	const objects, bytes = 3 + 3 + 4 + 2, 3*24 + 16 + 16 + 8 + 4*16 + 2*8192
	folders := leakcheck.Type[*cutFolder]()
	leakcheck.AssertRetained(t,
		folders.MaxObjects(3).MaxRetainedObjects(objects).MaxRetainedBytes(bytes),
		// files too, which are in folders anyway
		leakcheck.TypeNamed("leakcheck_test.cutF*").MaxRetainedObjects(objects),
		// the outer folders stay
		leakcheck.Type[*cutFile]().MaxRetainedBytes(bytes-2*24-16-16),
	)
	ft := &recordingT{name: "TestCut"}
	if leakcheck.AssertRetained(ft, folders.MaxRetainedObjects(objects-1).MaxRetainedBytes(bytes-1)) {
		t.Fatal("passed")
	}
	wantParts(t, strings.Join(ft.errors, "\n"),
		"found 3 objects, 72 B; cutting all of them would free 12 objects, 16.2 KiB, not 1 object, 8.0 KiB that something else holds, too: 1 object and 1 B more than allowed\n")
	ft = &recordingT{name: "TestCut"}
	if leakcheck.AssertRetained(ft, leakcheck.Type[*cutFile]().MaxRetainedBytes(bytes-2*24-16-16-1)) {
		t.Fatal("passed")
	}
	// Of the roots of another package, none has any.
	leakcheck.AssertRetained(t, leakcheck.Scope("testing"), folders.MaxRetainedObjects(0))
}

func TestMaxRetainedMisuse(t *testing.T) {
	own := leakcheck.Root("leakcheck_test.cutOwn")
	for want, opts := range map[string][]leakcheck.Option{
		"MaxRetainedBytes(-1): a bound cannot be negative":   {own.MaxRetainedBytes(-1)},
		"MaxRetainedObjects(-1): a bound cannot be negative": {own.MaxObjects(1).MaxRetainedObjects(-1)},
		"Ignore beside MaxRetainedObjects":                   {own.MaxRetainedBytes(1), leakcheck.Ignore("a.b", "c")},
		".RetainedRecorded() beside a bound":                 {own.RetainedRecorded(), own.MaxObjects(1)},
		"the pattern is empty":                               {leakcheck.Root("").RetainedRecorded()},
		"a zero Bound":                                       {leakcheck.Selector{}.RetainedRecorded()},
	} {
		ft := &recordingT{name: "TestCut"}
		if leakcheck.AssertRetained(ft, opts...) {
			t.Error("passed:", want)
		}
		wantParts(t, strings.Join(ft.errors, "\n"), want)
	}
}

func TestRetainedRecorded(t *testing.T) {
	fillCut(t)
	folder := filepath.Join("testdata", "leakcheck")
	name := "cut-" + strings.ReplaceAll(filepath.Base(t.TempDir()), "/", "-") + fmt.Sprint(os.Getpid())
	file := filepath.Join(folder, name+".golden")
	t.Cleanup(func() {
		os.Remove(file)
		os.Remove(folder) // if nothing else is in it
	})
	assert := func(env string) (*recordingT, bool) {
		t.Setenv("CI", "")
		t.Setenv("LEAKGATE_UPDATE", env)
		ft := &recordingT{name: "TestCut"}
		ok := leakcheck.AssertRetained(ft, leakcheck.Scope("github.com/leakgate/leakgate/leakcheck"), leakcheck.Golden(name),
			leakcheck.Ignore("leakcheck_test.cutLent", "borrowed"), leakcheck.Root("leakcheck_test.cut*").RetainedRecorded())
		return ft, ok
	}
	text := func() string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if ft, ok := assert("1"); !ok {
		t.Fatal(ft.errors)
	}
	line := "        3     9744~100%  retained:github.com/leakgate/leakgate/leakcheck_test.cutOwn "
	wantParts(t, text(), line)
	if strings.Contains(text(), "cutLent") {
		t.Errorf("what is ignored has a line:\n%s", text())
	}
	if ft, ok := assert("0"); !ok || strings.Contains(strings.Join(ft.logs, "\n"), "less is retained") {
		t.Error(ft.errors, ft.logs)
	}

	cutLent = nil // cutOwn now holds the shared one alone
	ft, ok := assert("0")
	if ok {
		t.Fatal("passed")
	}
	wantParts(t, strings.Join(ft.errors, "\n"), "+        4 ", "retained:github.com/leakgate/leakgate/leakcheck_test.cutOwn")
	if ft, ok = assert("1"); !ok {
		t.Fatal(ft.errors)
	}
	wantParts(t, text(), "        4     9744~100%  retained:")

	cutOwn = cutOwn[:1:1]
	cutOwn[0].next = nil
	if ft, ok = assert("0"); !ok {
		t.Error(ft.errors)
	}
	wantParts(t, strings.Join(ft.logs, "\n"), "less is retained than")
}
