package leakcheck

import (
	"strings"
	"syscall"
	"testing"
)

// A golden file that cannot be read since all descriptors are in use is no mistake of the test.
func TestGoldenWithoutDescriptors(t *testing.T) {
	w := newWorld(t, report(sessions(100)))
	w.writeGolden(t, "TestLogout.golden", sessionsGolden)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	ft, ok := w.assert()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(ft.logs, "\n"); !ok || !strings.Contains(said, "UNKNOWN") || !strings.Contains(said, "raise ulimit -n") {
		t.Errorf("%v\n%s\n%s", ok, said, ft.errorText())
	}
}
