package snapshot

import (
	"strings"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// ThisProgram says which packages and goroutines of this program belong to it, to its tests, and to
// this tool.
func ThisProgram() root.Program {
	return root.Program{Modules: symbol.OwnModules(), IsTool: symbol.IsTool, RunsTests: runsTests}
}

// runsTests reports whether a goroutine runs a test, benchmark or fuzz function: package testing
// made it, or it is the main goroutine inside testing.(*M).Run.
func runsTests(m *goruntime.Model, g *goruntime.Goroutine) bool {
	entry := m.Entry(g)
	for _, f := range []*goruntime.Func{entry, m.FuncAt(g.GoPC)} {
		if f != nil && strings.HasPrefix(f.Name, "testing.") {
			return true
		}
	}
	if entry == nil || entry.Name != "runtime.main" {
		return false
	}
	found := false
	_ = m.Frames(g, func(f *goruntime.Frame) error {
		found = found || f.Func.Name == "testing.(*M).Run"
		return nil
	})
	return found
}
