package environ_test

import (
	"os"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// A function of an external test package is one of the package that it tests.
func TestPackageFolderOfExternalTest(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	e := &environ.Environment{Dir: here, PackagePath: "github.com/leakgate/leakgate/leakcheck/internal/environ"}
	_, isHere := e.PackageFolder()
	assert.True(t, isHere)
	e.Dir = t.TempDir()
	_, isHere = e.PackageFolder()
	assert.False(t, isHere)
}
