//go:build amd64 || arm64

package leakcheck_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

var ignoredFiles []*os.File

func startIgnored(end chan struct{}) {
	go func() { <-end }()
}

func deepen(n int, end chan struct{}) int {
	var frame [256]byte
	if n == 0 {
		<-end
		return int(frame[3])
	}
	return deepen(n-1, end) + int(frame[5])
}

// An Ignore leaves out goroutines with their stacks, and handles with their descriptors, and no
// others that grow as fast.
func TestIgnoredGoroutinesAndHandles(t *testing.T) {
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	open := func() {
		f, err := os.Open(os.DevNull)
		require.NoError(t, err)
		ignoredFiles = append(ignoredFiles, f)
	}
	tests := []struct {
		name  string
		op    func()
		wrong string
	}{
		{"goroutines", func() { startIgnored(end) }, ""},
		{"goroutines, and others", func() { startIgnored(end); go deepen(40, end) }, " goroutine/op"},
		{"files", open, ""},
		{"files, and descriptors", func() {
			open()
			fd, err := syscall.Open("/dev/zero", 0, 0)
			require.NoError(t, err)
			t.Cleanup(func() { _ = syscall.Close(fd) })
		}, "+1.00 fd/op: /dev/zero"},
	}
	for i := 0; i < len(tests); i += require.Rounds(3, 1) {
		tt := tests[i]
		ft := &recordingT{name: t.Name()}
		passed := leakcheck.AssertNoGrowth(ft, tt.op, leakcheck.Iterations(20),
			leakcheck.Ignore("leakcheck_test.startIgnored", "they wait for the test's end"),
			leakcheck.Ignore("leakcheck_test.ignoredFiles", "they are closed at its end"))
		for _, f := range ignoredFiles {
			require.NoError(t, f.Close())
		}
		ignoredFiles = nil
		said := strings.Join(ft.errors, "\n")
		require.Equal(t, tt.wrong == "", passed, "%s: %s\n%s", tt.name, said, ft.logs)
		require.Contains(t, said, tt.wrong, tt.name)
	}
}
