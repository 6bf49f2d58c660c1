package policy

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// A goMod is a go.mod file as "go mod edit -json" prints it.
type goMod struct {
	Module  struct{ Path string }
	Go      string
	Require []struct{ Path string }
	Replace []struct{ Old struct{ Path string } }
}

func readGoMod(t *testing.T, file string) (m goMod) {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json", file)
	cmd.Dir = root
	if err := json.Unmarshal([]byte(strings.Join(runLines(t, cmd), "\n")), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMainModule checks how our go.mod affects users' modules. It may have no requirement, not even
// one for tests, whose checksums "go mod tidy" adds to each user's go.sum. Its go line must be
// below the toolchains that we test with, since users' go lines go up to it.
func TestMainModule(t *testing.T) {
	m := readGoMod(t, "go.mod")
	if m.Go != "1.24" {
		t.Errorf("go.mod says go %s: the go line of users goes up with it", m.Go)
	}
	for _, r := range m.Require {
		t.Errorf("go.mod requires %s: tests that need it belong to internal/tests; internal/testkit/assert stands in for testify", r.Path)
	}
	if len(m.Replace) > 0 {
		t.Errorf("go.mod replaces %s", m.Replace[0].Old.Path)
	}
}

// TestCommandModule checks that "go install github.com/leakgate/leakgate/cmd/leakgate@version"
// works: it refuses modules with a replace directive, and needs the version of the main module.
func TestCommandModule(t *testing.T) {
	m := readGoMod(t, "cmd/leakgate/go.mod")
	if len(m.Replace) > 0 {
		t.Errorf("cmd/leakgate/go.mod replaces %s: go install refuses that", m.Replace[0].Old.Path)
	}
	for _, r := range m.Require {
		if r.Path == modulePath {
			return
		}
	}
	t.Errorf("cmd/leakgate/go.mod does not require %s", modulePath)
}
