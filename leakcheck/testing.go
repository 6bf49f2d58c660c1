package leakcheck

// TestingT is what an assertion needs of a test. *testing.T, *testing.B, *testing.F and what
// testify's suite.T() returns have it, and so has any testing.TB.
//
// More is used where it is there: Name (for the golden file's name and the artifacts' folder),
// Cleanup (to number the assertions of one test), Skipf (where snapshots are not supported) and
// ArtifactDir.
type TestingT interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// TestingM is what VerifyTestMain needs of the *testing.M.
type TestingM interface {
	Run() int
}
