package collected

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// Functions registered with t.Cleanup go when the test is over.
func TestIsTestCleanup(t *testing.T) {
	for name, want := range map[string]bool{"cleanups": true, "common.cleanups": true, "common.cleanups[3]": true, "cleanup": false, "output": false} {
		assert.Equal(t, want, isTestCleanup("*testing.T", name), name)
		assert.False(t, isTestCleanup("*example.com/app.T", name), name)
	}
}

// Of a path, references that repeat are one line, and those up to an object that should be gone are
// marked.
func TestPathLines(t *testing.T) {
	step := func(name, typ string) refscan.PathStep { return refscan.PathStep{Name: name, Type: typ} }
	p := refscan.RetainingPath{Name: "example.com/app.list", Type: "*example.com/app.node", Root: refscan.RootInfo{Kind: refscan.RootGlobal}}
	p.Steps = []refscan.PathStep{step("", "*example.com/app.node"), step("next", "*example.com/app.node"), step("next", "*example.com/app.node"), step("file", "*os.File"), step("[7]", "*app.T")}
	lines := pathLines(p)
	require.Len(t, lines, 4)
	assert.Equal(t, "example.com/app.list  *app.node", lines[0])
	assert.Contains(t, lines[1], "next × 2  *app.node")
	p.Steps[3].State = "closed"
	lines = pathLines(p)
	require.Len(t, lines, 5)
	assert.Contains(t, lines[2], "file  *os.File, closed")
	p.Steps = nil
	for i := range 30 {
		p.Steps = append(p.Steps, step(fmt.Sprintf("f%d", i), "*app.T"))
	}
	lines = pathLines(p)
	assert.Len(t, lines, 1+maxPathLines+1)
	assert.Contains(t, strings.Join(lines, "\n"), "… 14 edges more")
}
