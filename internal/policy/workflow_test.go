package policy

import (
	"regexp"
	"strings"
	"testing"
)

var (
	usesAction   = regexp.MustCompile(`(?m)^\s*(?:-\s+)?uses:\s*(.*)$`)
	pinnedAction = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*$`)
	oldestGo     = regexp.MustCompile(`\bgo_oldest=go(\S+)`)
)

// TestWorkflows checks that workflows may only read, that the code that they run is pinned, and
// that they test with the Go version that .ci/run names.
func TestWorkflows(t *testing.T) {
	workflows := 0
	for _, file := range trackedFiles(t) {
		if file != "action.yml" && !strings.HasPrefix(file, ".github/") || !(strings.HasSuffix(file, ".yml") || strings.HasSuffix(file, ".yaml")) {
			continue
		}
		content := readFile(t, file)
		for _, m := range usesAction.FindAllStringSubmatch(content, -1) {
			if action := strings.TrimSpace(m[1]); !strings.HasPrefix(action, "./") && !pinnedAction.MatchString(action) {
				t.Errorf("%s: %q is not pinned by commit with its version beside it", file, action)
			}
		}
		if !strings.HasPrefix(file, ".github/workflows/") {
			continue
		}
		workflows++
		if !strings.Contains(content, "\npermissions:\n  contents: read\n") || strings.Contains(content, ": write") {
			t.Errorf("%s: permissions must be contents: read", file)
		}
	}
	if workflows == 0 {
		t.Error("there is no workflow")
	}

	version := oldestGo.FindStringSubmatch(readFile(t, ".ci/run"))
	if version == nil {
		t.Fatal(".ci/run names no go_oldest")
	}
	if ci := readFile(t, ".github/workflows/ci.yml"); !strings.Contains(ci, `go-version: "`+version[1]+`"`) {
		t.Errorf("ci.yml does not set up Go %s, as .ci/run wants", version[1])
	}
	if minor := version[1][:strings.LastIndex(version[1], ".")]; !strings.HasPrefix(readFile(t, "go.work"), "go "+minor+".0\n") {
		t.Errorf("go.work does not begin with go %s.0, the oldest that .ci/run tests", minor)
	}
}
