package starts

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

// quiet is a test that an assertion may fail.
type quiet struct {
	*testing.T
	errors *string
}

func (q quiet) Errorf(format string, args ...any) { *q.errors += fmt.Sprintf(format, args...) }

// TestPatterns asserts for each function in a list that no goroutine started there, and prints what
// the assertion says.
func TestPatterns(t *testing.T) {
	Use()
	time.Sleep(50 * time.Millisecond)
	for _, name := range strings.Fields(os.Getenv("STARTS")) {
		for _, o := range []leakcheck.Option{leakcheck.Goroutines(name).None(), leakcheck.Goroutines(name).NoneLeaked()} {
			text := ""
			leakcheck.AssertRetained(quiet{t, &text}, o)
			fmt.Printf("RESULT %s %s\n", name, strings.ReplaceAll(text, "\n", " "))
		}
	}
}
