package roots

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
	"github.com/leakgate/leakgate/refscan"
)

// TestRoots prints the names of all roots, and what bounds on the names in NAMES, one a line, say:
// "red", "green" or a mistake.
func TestRoots(t *testing.T) {
	if os.Getenv("ROOTS_LEAK") != "" {
		Leak()
	}
	s, err := refscan.Capture()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Scan()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range r.Roots {
		objects, _ := n.Total()
		fmt.Printf("ROOT %d %s\n", objects, n.Name)
	}
	names, _ := os.ReadFile(os.Getenv("NAMES"))
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSuffix(name, "\n")
		err := leakcheck.Find(leakcheck.Root(name).None())
		var found *leakcheck.FoundError
		switch {
		case err == nil:
			fmt.Printf("RESULT green %s\n", name)
		case errors.As(err, &found):
			fmt.Printf("RESULT red %s\n", name)
		default:
			fmt.Printf("RESULT mistake %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
}
