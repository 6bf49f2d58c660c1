package leakcheck

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/alloc"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// allocs asserts what op allocates in the world, with a golden file.
func (w *world) allocs(op func(), opts ...AllocOption) (*fakeT, bool) {
	t := &fakeT{name: "TestOrder/two_lines"}
	ok := alloc.AssertAllocs(w.Checker, t, environ.Site{File: "/src/app/app_test.go", Line: 31}, op, newAllocRequest(op, opts))
	t.end()
	return t, ok
}

// allocsGolden is the name of the golden file of those assertions.
var allocsGolden = "TestOrder/two_lines~" + regexp.MustCompile(`go1\.\d+`).FindString(runtime.Version()) + ".golden"

const basketGolden = `leakgate golden v1
# objects         bytes  path                                              type

        1           160  op                                                []github.com/leakgate/leakgate/leakcheck.line
        1            24  op                                                github.com/leakgate/leakgate/leakcheck.basket
        1             8  op                                                github.com/leakgate/leakgate/leakcheck.shelf[string,*github.com/leakgate/leakgate/leakcheck.basket]
        1           208  op                                                map[string]*github.com/leakgate/leakgate/leakcheck.basket
        1            48  op.mapheaders                                     -
`

// notWithRace skips a test of golden files that are written or fail.
func notWithRace(t *testing.T) {
	if alloc.RaceDetector {
		t.Skip("with -race allocations differ at random: no golden file is written or failed by")
	}
}

func TestAllocsGolden(t *testing.T) {
	notWithRace(t)
	w := newWorld(t)
	ft, ok := w.allocs(fillBasket)
	assert.True(t, ok, ft.errorText())
	assert.True(t, ft.logged("created testdata/leakcheck/"+allocsGolden+" with 5 lines"), ft.logs)
	wantText(t, "golden", w.goldenText(t, allocsGolden), basketGolden)

	// The file holds, also if fewer objects are allocated, or if a few calls allocate more.
	w.env.Ci = true
	calls := 0
	for name, c := range map[string]struct {
		op   func()
		logs string
	}{
		"the same": {fillBasket, "op allocates 5.00 allocs/op (448 B/op), counted over 100 calls"},
		"fewer":    {func() { keptBasket = new(basket) }, "less is allocated than 4 lines allow; an update would tighten it"},
		"half": {func() {
			fillBasket()
			if calls++; calls%2 == 0 {
				keptLines = new([3]line)
			}
		}, "less than once a call, which golden files do not have: [3]leakcheck.line (0.50 allocs/op)"},
	} {
		ft, ok := w.allocs(c.op)
		assert.True(t, ok, name, ft.errorText())
		assert.True(t, ft.logged(c.logs), name, ft.logs)
	}
	wantText(t, "golden", w.goldenText(t, allocsGolden), basketGolden)

	// More objects of a type, and a new type, fail.
	more := func() {
		fillBasket()
		keptBasket = new(basket)
		keptLines = new([3]line)
	}
	ft, ok = w.allocs(more)
	assert.False(t, ok)
	assert.Contains(t, ft.errorText(), "leakcheck: op allocates more than the golden file allows (2 lines): testdata/leakcheck/"+allocsGolden)
	assert.Contains(t, ft.errorText(), "    leakcheck.basket: 2 allocs/op (48 B/op), golden 1 allocs/op, 24 B/op\n")
	assert.Contains(t, ft.errorText(), "    [3]leakcheck.line: 1 allocs/op (48 B/op), not in the golden file\n")
	assert.Contains(t, ft.errorText(), "to accept it: go test example.com/app -run '^TestOrder$/^two_lines$' -leakcheck.update")

	// An update changes only the lines that do not hold.
	w.writeGolden(t, allocsGolden, strings.Replace(basketGolden, "        1           160  ", "      <=9             *  ", 1))
	w.env.Update = true
	ft, ok = w.allocs(more)
	assert.True(t, ok, ft.errorText())
	after := w.goldenText(t, allocsGolden)
	assert.Contains(t, after, "      <=9             *  op  ")
	assert.Contains(t, after, "        2            48  op                                                github.com/leakgate/leakgate/leakcheck.basket\n")
	assert.Contains(t, after, "[3]github.com/leakgate/leakgate/leakcheck.line\n")
	w.env.Update = false
	ft, ok = w.allocs(more)
	assert.True(t, ok, ft.errorText())
}

var keptLines *[3]line

// Without a file the test fails in CI, and no file is made; the message has the allocations of op.
func TestAllocsGoldenMissing(t *testing.T) {
	w := newWorld(t)
	w.env.Ci = true
	ft, ok := w.allocs(fillBasket)
	assert.False(t, ok)
	assert.Contains(t, ft.errorText(), "there is no golden file testdata/leakcheck/"+allocsGolden+", and CI is set, so none is made here; make it and commit it")
	assert.Contains(t, ft.errorText(), "leakcheck.AllAllocs().MaxAllocsPerOp(5).MaxBytesPerOp(448)")
	_, err := os.Stat(filepath.Join(w.env.Dir, "testdata"))
	assert.True(t, os.IsNotExist(err), err)

	// A file for another Go version does not count, whatever it contains.
	w.writeGolden(t, "TestOrder/two_lines~go1.2.golden", basketGolden)
	_, ok = w.allocs(fillBasket)
	assert.False(t, ok)
}

// With -race the verdict is unknown, but a file that holds passes.
func TestAllocsGoldenWithRace(t *testing.T) {
	if !alloc.RaceDetector {
		t.Skip("it is about -race")
	}
	w := newWorld(t)
	w.writeGolden(t, allocsGolden, basketGolden)
	ft, ok := w.allocs(fillBasket)
	assert.True(t, ok, ft.errorText())
	assert.Equal(t, "", ft.skipped)
	ft, _ = w.allocs(func() {
		fillBasket()
		keptBasket = new(basket)
	})
	assert.Contains(t, ft.skipped, "run this test without -race")
}
