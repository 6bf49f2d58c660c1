package procfs

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat(" 0", n) }
	line := "12 (a) (b c) Z 7" + zeros(5) + " 31" + zeros(9) + " 3 0 900" + zeros(15) + " 17 0\n"
	s, err := ParseStat([]byte(line))
	if err != nil || s.Name != "a) (b c" || s.State != 'Z' || !s.HasEnded() || s.Parent != 7 ||
		s.MinorFaults != 31 || s.Threads != 3 || s.StartTime != 900 || s.ExitSignal != 17 {
		t.Errorf("%+v %v", s, err)
	}
	for _, line := range []string{"", "1", "1 (", ")(", "1 (a)", "1 (a) Z 7", strings.TrimSuffix(line, " 17 0\n")} {
		if s, err := ParseStat([]byte(line)); err == nil || s.State != 0 || s.HasEnded() || s.Threads != 0 {
			t.Errorf("%q is %+v", line, s)
		}
	}
}

func TestReadStat(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	s, err := ReadStat("/proc/self")
	if err != nil || s.HasEnded() || s.Parent != int64(os.Getppid()) || s.Threads < 1 || s.StartTime == 0 {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := ReadStat("/proc/none"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// A file is read whole, whatever the size of the buffer.
func TestRead(t *testing.T) {
	name := t.TempDir() + "/f"
	want := strings.Repeat("0123456789", 2000)
	if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 512, len(want), 2 * len(want)} {
		if got, err := Read(name, make([]byte, size)); string(got) != want || err != nil {
			t.Errorf("%d bytes with room for %d: %v", len(got), size, err)
		}
	}
}
