package environ

import "reflect"

// A TestingT is what an assertion needs of a test.
type TestingT interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// A TestingM is what runs the tests of a package.
type TestingM interface{ Run() int }

type (
	named   interface{ Name() string }
	Cleaner interface{ Cleanup(func()) }
	Skipper interface {
		Skipf(format string, args ...any)
	}
	ArtifactDir interface{ ArtifactDir() string }
	Ended       interface {
		Failed() bool
		Skipped() bool
	}
)

// NeedT panics if t is nil: the assertion could not fail the test, and the test would pass. The
// first call of a method of a nil *testing.T would panic, too, with a worse text.
func NeedT(t TestingT, verb string) {
	if v := reflect.ValueOf(t); t == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		panic("leakcheck: " + verb + ": t is nil; pass the *testing.T of the test that is running")
	}
}

// TestName returns the name of the running test, or "" where t does not tell.
func TestName(t TestingT) string {
	if n, ok := t.(named); ok {
		return n.Name()
	}
	return ""
}
