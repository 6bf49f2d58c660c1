package environ

import (
	"os"
	"strings"

	"github.com/leakgate/leakgate/internal/envvar"
)

// testLogMagic is how the go command's test log begins (go1.26 and go1.27
// testing/internal/testdeps/deps.go, cmd/go/internal/test/test.go).
const testLogMagic = "# test log\n"

// LogInputs appends to the go command's test log what a check reads after the tests: environment
// variables and the golden file with a name, "" for none. The go command takes a pass from its
// cache as long as nothing in that log has changed. Package testing writes there what package os
// reads, but it closes the log before (*testing.M).Run returns. An error is none of the test's: at
// worst a pass is taken from the cache.
func (e *Environment) LogInputs(file string) {
	log, err := os.ReadFile(e.TestLog)
	if err != nil || !strings.HasPrefix(string(log), testLogMagic) {
		return
	}
	names := append(envvar.Names(), "CI", "TEST_TOTAL_SHARDS", "TEST_UNDECLARED_OUTPUTS_DIR")
	text := "getenv " + strings.Join(names, "\ngetenv ") + "\n"
	if file != "" {
		_, path := e.GoldenPath(file)
		text += "open " + path + "\n"
	}
	_ = os.WriteFile(e.TestLog, append(log, text...), 0o666)
}
