package policy

import (
	"slices"
	"strings"
	"testing"
)

// TestForeign checks that only the command links refscan/foreign, which stops other processes and
// reads their memory.
func TestForeign(t *testing.T) {
	const foreign = modulePath + "/refscan/foreign"
	importers := 0
	for _, line := range goLines(t, platform{}, "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...", "./cmd/leakgate/...") {
		packages := strings.Fields(line)
		if !slices.Contains(packages[1:], foreign) {
			continue
		}
		if importers++; !strings.HasPrefix(packages[0], modulePath+"/cmd/leakgate/internal/") {
			t.Errorf("%s imports %s, which is for the command alone", packages[0], foreign)
		}
	}
	if importers == 0 {
		t.Errorf("nothing imports %s", foreign)
	}
}
