package environ

import "testing"

func TestPackageOnStack(t *testing.T) {
	const want = "github.com/leakgate/leakgate/leakcheck/internal/environ"
	if got := packageOnStack(); got != want {
		t.Errorf("in a test: %q, want %q", got, want)
	}
	found := make(chan string)
	go func() { found <- packageOnStack() }()
	if got := <-found; got != want {
		t.Errorf("in a goroutine of a test: %q, want %q", got, want)
	}
}
