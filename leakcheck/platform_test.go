package leakcheck_test

import (
	"runtime"
	"testing"
)

// needSnapshots skips tests on systems on which an assertion skips its test.
func needSnapshots(t testing.TB) {
	t.Helper()
	system := runtime.GOOS == "linux" || runtime.GOOS == "windows"
	if !system || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("snapshots need linux or windows on amd64 or arm64")
	}
}
