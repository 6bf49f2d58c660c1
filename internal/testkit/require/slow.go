package require

import "os"

// IsSlow reports whether slow tests are wanted: with LEAKGATE_SLOW=1, or "once", as .ci/run sets
// it. Its step "slow" runs the test functions that call one of the three functions of this file, so
// only test functions may call them.
func IsSlow() bool { return isMany() || os.Getenv("LEAKGATE_SLOW") == "once" }

func isMany() bool { return os.Getenv("LEAKGATE_SLOW") == "1" }

// Slow skips a slow test unless IsSlow. Slow tests build programs, or repeat what other tests do
// once.
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

// Rounds returns how often a test repeats its work: few, or many with LEAKGATE_SLOW=1.
func Rounds(few, many int) int {
	if isMany() {
		return many
	}
	return few
}
