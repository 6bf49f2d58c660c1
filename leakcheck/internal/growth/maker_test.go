package growth

import (
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const self = "github.com/leakgate/leakgate/leakcheck/internal/growth."

//go:noinline
func makeIt() []uintptr {
	var pcs [64]uintptr
	return pcs[:runtime.Callers(1, pcs[:])]
}

//go:noinline
func callMaker() []uintptr { return makeIt() }

// ownStack is the text of this goroutine's stack.
func ownStack() string {
	buf := make([]byte, 1<<12)
	return string(buf[:runtime.Stack(buf, false)])
}

// What made something is the innermost function of the program through which one of the makers was
// called, with those that led to it. The maker of the lowest rank says how certain that is.
func TestMakerOn(t *testing.T) {
	stack := callMaker()
	isTesting := func(pkg string) bool { return pkg == "testing" }
	isOwn := func(pkg string) bool { return strings.HasSuffix(pkg, "/growth") }
	for name, c := range map[string]struct {
		prefixes  []string
		isProgram func(string) bool
		first     string // "": none
		rank      int
		led       int
	}{
		"a maker":         {[]string{self + "makeIt"}, isOwn, "makeIt", 0, 3},
		"of lower rank":   {[]string{"os.Open", self + "makeIt"}, isOwn, "makeIt", 1, 3},
		"behind the tool": {[]string{self + "callMaker"}, isOwn, "", 0, 0}, // makeIt is of this tool
		"both":            {[]string{self + "callMaker", self + "makeIt"}, isOwn, "makeIt", 0, 3},
		"none":            {[]string{"os.Open"}, isOwn, "", 0, 0},
		"not the program": {[]string{self + "makeIt"}, isTesting, "", 0, 0},
	} {
		by, ok := makerOn(c.prefixes, stack, c.isProgram)
		require.Equal(t, c.first != "", ok, name)
		if !ok {
			continue
		}
		assert.Equal(t, self+c.first, by.Call.Function, name)
		assert.Equal(t, c.rank, by.rank, name)
		assert.Len(t, by.Stack, c.led, name)
		assert.Contains(t, by.Call.At, "maker_test.go:")
	}
	_, ok := makerOn([]string{self + "makeIt"}, nil, isOwn)
	assert.False(t, ok)
}
