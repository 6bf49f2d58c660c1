package policy

import (
	"slices"
	"strings"
	"testing"
)

// TestForeign checks that the command and the package behind leakcheck.InProcess alone import
// refscan/foreign, which stops other processes and reads their memory.
func TestForeign(t *testing.T) {
	const foreign = modulePath + "/refscan/foreign"
	importers := 0
	for _, line := range goLines(t, platform{}, "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...", "./cmd/leakgate/...") {
		packages := strings.Fields(line)
		if !slices.Contains(packages[1:], foreign) {
			continue
		}
		if importers++; !strings.HasPrefix(packages[0], modulePath+"/cmd/leakgate/internal/") && packages[0] != modulePath+"/leakcheck/internal/service" {
			t.Errorf("%s imports %s, which is for the command and InProcess alone", packages[0], foreign)
		}
	}
	if importers == 0 {
		t.Errorf("nothing imports %s", foreign)
	}
}
