package leakcheck_test

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

// limitDescriptors leaves the process room for so many more descriptors until the test ends.
func limitDescriptors(t *testing.T, more int) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(fd)
	limit := old
	limit.Cur = uint64(fd + more)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) })
}

// opener returns a function that opens a descriptor until there are none left, and one that closes
// all of them.
func opener(open func() (int, error)) (leave, clean func()) {
	var all []int
	return func() {
			if fd, err := open(); err == nil {
				all = append(all, fd)
			}
		}, func() {
			for _, fd := range all {
				syscall.Close(fd)
			}
		}
}

func openNull() (int, error) { return syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0) }

// A leak stays below the system's limits while it is measured. A limit that is met is no plateau:
// there is no pass.
func TestLeakBelowLimit(t *testing.T) {
	fillCut(t)
	notify := func() (int, error) { return syscall.InotifyInit1(syscall.IN_CLOEXEC) }
	events := func() (int, error) { return syscall.EpollCreate1(syscall.EPOLL_CLOEXEC) }
	const leaks = "+1.00 fd/op"
	tests := []struct {
		name string
		open func() (int, error)
		room int // descriptors; 0: the system's limits
		opts []leakcheck.GrowthOption
		want string // "": passes
	}{
		{"inotify", notify, 0, nil, leaks},
		{"inotify, in tens", notify, 0, []leakcheck.GrowthOption{leakcheck.Iterations(10)}, leaks},
		{"inotify, in thousands", notify, 0, []leakcheck.GrowthOption{leakcheck.Iterations(1000)}, leaks},
		{"inotify, long warm-up", notify, 0, []leakcheck.GrowthOption{leakcheck.Warmup(1000)}, leaks},
		{"inotify, in full", notify, 0, []leakcheck.GrowthOption{leakcheck.Full()}, leaks},
		{"files", openNull, 160, nil, "made by github.com/leakgate/leakgate/leakcheck_test.openNull"},
		{"files, in tens", openNull, 160, []leakcheck.GrowthOption{leakcheck.Iterations(10)}, leaks},
		{"files, little room", openNull, 60, nil, leaks},
		{"polls", events, 200, nil, leaks},
		{"no room", openNull, 5, nil, "op meets a limit of the system: "},
	}
	for i := 0; i < len(tests); i += require.Rounds(3, 1) {
		tt := tests[i]
		t.Run(tt.name, func(t *testing.T) {
			if tt.room > 0 {
				limitDescriptors(t, tt.room)
			}
			t.Setenv("LEAKGATE_STRICT", "1")
			leave, clean := opener(tt.open)
			defer clean()
			ft := &failingT{recordingT{name: t.Name()}}
			leakcheck.AssertNoGrowth(ft, leave, tt.opts...)
			if text := strings.Join(ft.errors, "\n"); !strings.Contains(text, tt.want) {
				t.Errorf("no %q in %s\n%s", tt.want, text, strings.Join(ft.logs, "\n"))
			}
		})
	}
}

// An op may hold descriptors, also many of them, if it does not take more with each call.
func TestHoldsDescriptors(t *testing.T) {
	fillCut(t)
	for _, tt := range []struct{ most, room int }{{20, 0}, {40, 100}, {100, 1000}} {
		if tt.room > 0 {
			limitDescriptors(t, tt.room)
		}
		leave, clean := opener(openNull)
		n := 0
		leakcheck.AssertNoGrowth(t, func() {
			if n < tt.most {
				leave()
				n++
			}
		}, leakcheck.Warmup(200))
		clean()
	}
}

// Op locks memory until a limit is met, and then gives back what it has mapped: no plateau either.
func TestLeakOfLockedMemory(t *testing.T) {
	fillCut(t)
	runtime.LockOSThread() // and it ends with the test
	dropCapabilities(t)
	var old syscall.Rlimit
	const rlimitMEMLOCK, page = 8, 4096
	if err := syscall.Getrlimit(rlimitMEMLOCK, &old); err != nil {
		t.Fatal(err)
	}
	limit := old
	limit.Cur = min(limit.Cur, 400*page)
	if err := syscall.Setrlimit(rlimitMEMLOCK, &limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Setrlimit(rlimitMEMLOCK, &old) })
	var all [][]byte
	t.Cleanup(func() {
		for _, m := range all {
			syscall.Munmap(m)
		}
	})
	lock := func() {
		m, err := syscall.Mmap(-1, 0, page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return
		}
		if syscall.Mlock(m) != nil {
			syscall.Munmap(m)
			return
		}
		all = append(all, m)
	}
	for i, opts := range [][]leakcheck.GrowthOption{nil, {leakcheck.Iterations(10)}, {leakcheck.Warmup(1000)}, {leakcheck.Iterations(1000)}} {
		if i > 0 && !require.IsSlow() {
			continue
		}
		ft := &failingT{recordingT{name: t.Name()}}
		leakcheck.AssertNoGrowth(ft, lock, opts...)
		if text := strings.Join(ft.errors, "\n"); !strings.Contains(text, "via syscall.mapper.active") {
			t.Errorf("%d options: not found: %s\n%s", len(opts), text, strings.Join(ft.logs, "\n"))
		}
		for _, m := range all {
			syscall.Munmap(m)
		}
		all = nil
	}
	for range 401 {
		lock()
	}
	if len(all) > 400 {
		t.Error("the limit does not apply")
	}
}

// dropCapabilities takes all privileges from this thread.
func dropCapabilities(t *testing.T) {
	t.Helper()
	header := struct {
		version uint32
		pid     int32
	}{version: 0x20080522}
	var none [6]uint32
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0); errno != 0 {
		t.Fatal(errno)
	}
}

// A warm-up is not cut for what only the first call opens.
func TestWarmupIsWhole(t *testing.T) {
	fillCut(t)
	limitDescriptors(t, 300)
	leave, clean := opener(openNull)
	defer clean()
	calls := 0
	leakcheck.AssertNoGrowth(t, func() {
		if calls++; calls == 1 {
			for range 5 {
				leave()
			}
		}
	}, leakcheck.Warmup(3000))
	if calls < 3000 {
		t.Errorf("op was called %d times", calls)
	}
}

// If op ends the process while each call leaves something behind, standard error has what piled up
// until then.
func TestOpEndsProcess(t *testing.T) {
	const ends = "LEAKGATE_TEST_OP_ENDS"
	if os.Getenv(ends) != "" {
		limitDescriptors(t, 400)
		n := 0
		leakcheck.AssertNoGrowth(t, func() {
			if _, err := openNull(); err != nil || n == 30 {
				os.Exit(3)
			}
			n++
		}, leakcheck.Warmup(30))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestOpEndsProcess$")
	cmd.Env = append(os.Environ(), ends+"=1")
	out, err := cmd.CombinedOutput()
	// A thread that starts meanwhile has areas of memory of its own, and another descriptor that is
	// closed meanwhile hides some of these from a look.
	want := regexp.MustCompile(`leakcheck: TestOpEndsProcess: after (8|16) calls of op, .*\b(8|16) of /dev/null\b.*\(said now`)
	if err == nil || !want.Match(out) {
		t.Errorf("%v: no %q in %s", err, want, out)
	}
}

// If op panics, the log has what the snapshots until then show.
func TestOpPanicsOfItsLeak(t *testing.T) {
	fillCut(t)
	var all []*[100]byte
	ft := &endingT{failingT: failingT{recordingT{name: t.Name()}}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		leakcheck.AssertNoGrowth(ft, func() {
			if all = append(all, new([100]byte)); len(all) == 2000 {
				panic("too many")
			}
		})
	}()
	if log := strings.Join(ft.logs, "\n"); !strings.Contains(log, "what grew until then:") || !strings.Contains(log, "+1.00 *[100]uint8/op") {
		t.Error(log)
	}
	all = nil
}
