package require

import "os"

// IsSlow reports whether tests that take long are wanted: with LEAKGATE_SLOW=1, or "once", as .ci/run
// sets it. Its step "slow" runs the test functions that call one of the three functions of this
// file, so only those may call them.
func IsSlow() bool { return isMany() || os.Getenv("LEAKGATE_SLOW") == "once" }

func isMany() bool { return os.Getenv("LEAKGATE_SLOW") == "1" }

// Slow skips a test that takes long, as those do that build programs or repeat what others do once,
// unless IsSlow.
func Slow(t interface {
	Helper()
	Skip(args ...any)
},
) {
	t.Helper()
	if !IsSlow() {
		t.Skip("takes long; LEAKGATE_SLOW=1 runs it")
	}
}

// Rounds is how often a test does what it does: few times, or many times with LEAKGATE_SLOW=1.
func Rounds(few, many int) int {
	if isMany() {
		return many
	}
	return few
}
