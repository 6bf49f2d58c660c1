package leakcheck

// TestingT is the part of a test that an assertion needs. *testing.T, *testing.B, *testing.F and
// the result of testify's suite.T() have it, and so has any testing.TB.
//
// An assertion also uses these methods, if t has them: Name (for the golden file's name and the
// artifacts' folder), Cleanup (to number the assertions of one test), Skipf (where snapshots are
// not supported) and ArtifactDir.
type TestingT interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// TestingM is the part of *testing.M that VerifyTestMain needs.
type TestingM interface {
	Run() int
}
