package ledger

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/procfs"
)

func take(t testing.TB) *Ledger {
	t.Helper()
	l, err := Take(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// named counts the program's items of a kind with an exact name.
func (l *Ledger) named(k Kind, name, state string) (n int) {
	for _, it := range l.Program(k) {
		if it.Names[0] == name && it.State == state {
			n++
		}
	}
	return n
}

func TestDescriptors(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	before := take(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	must(err)
	defer client.Close()
	server, err := ln.Accept()
	must(err)
	defer server.Close()
	r, w, err := os.Pipe()
	must(err)
	defer r.Close()
	defer w.Close()
	path := filepath.Join(t.TempDir(), "text")
	must(os.WriteFile(path, []byte("text"), 0o600))
	f, err := os.Open(path)
	must(err)
	defer f.Close()
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	must(err)
	defer syscall.Close(epoll)
	unix, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	must(err)
	defer unix.Close()

	l := take(t)
	for _, want := range [][2]string{
		{"socket listening at " + ln.Addr().String(), ""},
		{"socket to " + ln.Addr().String(), "ESTABLISHED"},
		{"socket accepted at " + ln.Addr().String(), "ESTABLISHED"},
		{"pipe", "read end"},
		{"pipe", "write end"},
		{path, ""},
		{"eventpoll", ""}, // the test's own: the poller's, which the sockets have needed, does not count
		{"unix socket listening at " + unix.Addr().String(), ""},
	} {
		if n := l.named(Descriptor, want[0], want[1]) - before.named(Descriptor, want[0], want[1]); n != 1 {
			t.Errorf("%d of %q in %+v", n, want, l.Program(Descriptor))
		}
	}
	if n := l.Count(Descriptor) - before.Count(Descriptor); n != 8 {
		t.Errorf("%d more: %+v", n, l.Program(Descriptor))
	}
	for _, it := range l.Program(Descriptor) {
		if it.Number <= 2 {
			t.Errorf("a standard file: %+v", it)
		}
	}
}

// A descriptor counts even if the system does not tell what it is open on.
func TestDescriptorWithoutName(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	name := strings.Repeat("x", 255)
	fd, err := syscall.Open(t.TempDir(), syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	must(err)
	for range 4096 / len(name) {
		must(syscall.Mkdirat(fd, name, 0o700))
		below, err := syscall.Openat(fd, name, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		must(err)
		must(syscall.Close(fd))
		fd = below
	}
	defer syscall.Close(fd)
	if n := take(t).named(Descriptor, "descriptor of unknown name", syscall.ENAMETOOLONG.Error()); n != 1 {
		t.Errorf("%d descriptors of unknown name", n)
	}
}

// The descriptors of the runtime's poller do not count, which the first connection has it open.
func TestPoller(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	l := take(t)
	for _, name := range []string{"eventpoll", "eventfd"} {
		if n := l.named(Descriptor, name, ""); n != 0 {
			t.Errorf("%d of the kind %s", n, name)
		}
	}
}

func TestProcesses(t *testing.T) {
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	start := func(arg string) int {
		pid, err := syscall.ForkExec(path, []string{"sleep", arg}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	reap := func(pid int) {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
			t.Error(err)
		}
	}
	if n := take(t).Count(Process); n != 0 {
		t.Fatalf("%d child processes", n)
	}
	before, err := TakeGlance("")
	if err != nil {
		t.Fatal(err)
	}
	runs, ends := start("1000"), start("0")
	for range 1000 {
		if l := take(t); l.named(Process, "sleep", "ended, and not waited for") == 1 {
			break
		}
		syscall.Nanosleep(&syscall.Timespec{Nsec: 10_000_000}, nil)
	}
	l := take(t)
	if l.named(Process, "sleep", "running") != 1 || l.named(Process, "sleep", "ended, and not waited for") != 1 || l.Count(Process) != 2 {
		t.Errorf("%+v", l.Program(Process))
	}
	now, err := TakeGlance("")
	if err != nil {
		t.Fatal(err)
	}
	if n := now.NewSince(before)[Process]; n != 2 {
		t.Errorf("%d new processes", n)
	}
	_ = syscall.Kill(runs, syscall.SIGKILL)
	reap(runs)
	reap(ends)
	if n := take(t).Count(Process); n != 0 {
		t.Errorf("%d child processes", n)
	}
}

func TestMappings(t *testing.T) {
	size := func(l *Ledger, name string) (n int64) {
		for _, it := range l.Program(Mapping) {
			if it.Names[0] == name {
				n += it.Size
			}
		}
		return n
	}
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := take(t)
	const much = 32 << 20 // more than what the runtime maps meanwhile
	anonymous, err := syscall.Mmap(-1, 0, much, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	file, err := syscall.Mmap(int(f.Fd()), 0, 8192, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	l := take(t)
	if n := size(l, path); n != 8192 {
		t.Errorf("%d bytes of the file", n)
	}
	if n := size(l, Anonymous) - size(before, Anonymous); !Sanitized && (n < much || n > much+much/8) {
		t.Errorf("%d bytes more", n)
	}
	_ = syscall.Munmap(anonymous)
	_ = syscall.Munmap(file)
	if n := size(take(t), path); n != 0 {
		t.Errorf("%d bytes of the file", n)
	}
}

// Memory that is mapped right behind the zeroed data of a loaded file is one area with it.
func TestMappedBehindZeroedData(t *testing.T) {
	before, err := AnonymousBytes()
	if err != nil {
		t.Fatal(err)
	}
	end := endOfZeroedData(t)
	const size = 16 << 20  // more than what the runtime maps meanwhile
	const fixed = 0x100000 // MAP_FIXED_NOREPLACE, linux 4.17
	got, _, errno := syscall.Syscall6(syscall.SYS_MMAP, end, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|fixed, ^uintptr(0), 0)
	if errno == syscall.EEXIST {
		again(t) // the system has placed the heap of C there, at random
		return
	}
	if errno != 0 || got != end {
		t.Fatalf("mmap at %#x: %#x, %v", end, got, errno)
	}
	after, err := AnonymousBytes()
	if n := after - before; err != nil || !Sanitized && (n < size || n > size+size/8) {
		t.Errorf("%d bytes more, want %d, %v", n, size, err)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_MUNMAP, end, size, 0); errno != 0 {
		t.Fatal(errno)
	}
	after, err = AnonymousBytes()
	if n := after - before; err != nil || !Sanitized && (n > size/8 || n < -size/8) {
		t.Errorf("%d bytes more, want none, %v", n, err)
	}
}

// again runs the test in a new process, which has its memory elsewhere, up to 50 times in all.
func again(t *testing.T) {
	t.Helper()
	const tries = "LEAKGATE_TEST_TRIES"
	n, _ := strconv.Atoi(os.Getenv(tries))
	if n == 50 {
		t.Fatal("there was no room in any process")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), tries+"="+strconv.Itoa(n+1))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// endOfZeroedData returns where the zeroed data of the test binary ends.
func endOfZeroedData(t *testing.T) uintptr {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := procfs.Read("/proc/self/maps", make([]byte, 16<<10))
	if err != nil {
		t.Fatal(err)
	}
	var before procfs.Area
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		m, ok := procfs.Parse(line)
		if ok && string(before.Name) == self && isBehind(&before, &m) && string(m.Mode) == "rw-p" {
			return uintptr(m.End)
		}
		before = m
	}
	t.Fatalf("no zeroed data behind %s", self)
	return 0
}

// Memory that the runtime maps for itself, or that the engine keeps between snapshots, does not
// count as the program's.
func TestMappingsOfTheRuntime(t *testing.T) {
	if Sanitized {
		t.Skip("a sanitizer maps memory of its own")
	}
	anonymous := func() int64 {
		n, err := AnonymousBytes()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := anonymous()
	const size = 64 << 20
	kept, err := offheap.Take(size)
	if err != nil {
		t.Fatal(err)
	}
	defer offheap.Release(kept)
	offheap.Kept.Add(size)
	defer offheap.Kept.Add(-size)
	var hold [][]byte
	for range 100 {
		b := make([]byte, 4<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		hold = append(hold, b)
	}
	if n := anonymous() - before; n > 4<<20 || n < -4<<20 {
		t.Errorf("%d bytes more, though only Go's heap has grown", n)
	}
	_ = hold
}

func TestTemporaryFiles(t *testing.T) {
	mine := t.TempDir()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for range 3 {
		f, err := os.CreateTemp("", "upload-*.txt")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if n := take(t).named(File, filepath.Join(Pattern(dir), "upload-*.txt"), ""); n != 3 {
		t.Errorf("%d files", n)
	}
	t.Setenv("TMPDIR", filepath.Dir(filepath.Dir(mine)))
	if err := os.WriteFile(filepath.Join(mine, "state-7"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := take(t).named(File, filepath.Join(Pattern(filepath.Dir(mine)), filepath.Base(mine), "state-*"), ""); n != 1 {
		t.Errorf("%d files in the test's own folder", n)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "no", "such"))
	if l := take(t); len(l.Missing) != 1 || l.Count(File) != 0 {
		t.Errorf("of a folder that is not there: %q", l.Missing)
	}
}

func TestNewSince(t *testing.T) {
	before, err := TakeGlance("")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	now, err := TakeGlance("")
	if err != nil {
		t.Fatal(err)
	}
	if n := now.NewSince(before)[Descriptor]; n != 1 {
		t.Errorf("%d new descriptors", n)
	}
	// a descriptor that takes the number of a closed one is new
	other, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(other, fd, syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	syscall.Close(other)
	if err := before.Renew(); err != nil {
		t.Fatal(err)
	}
	if n := before.NewSince(now)[Descriptor]; n != 1 {
		t.Errorf("%d new descriptors in place of others", n)
	}
	syscall.Close(fd)
}

func TestGroups(t *testing.T) {
	items := []Item{
		{Kind: Descriptor, Names: [levels]string{"b"}, Size: 1, State: "x"},
		{Kind: Descriptor, Names: [levels]string{"a"}, Size: 1, State: "x"},
		{Kind: Descriptor, Names: [levels]string{"a"}, Size: 1, State: "y"},
	}
	var got []string
	for _, g := range Groups(items) {
		got = append(got, g.String())
	}
	if want := []string{"a", "b (x)"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestHost6(t *testing.T) {
	for _, want := range []string{"::", "::1", "2001:db8:0:0:0:0:0:1", "fe80:0:0:0:0:0:0:a"} {
		var b [16]byte
		copy(b[:], net.ParseIP(want))
		if got := host6(b); got != "["+want+"]" || !net.ParseIP(got[1:len(got)-1]).Equal(net.ParseIP(want)) {
			t.Errorf("%s is %s", want, got)
		}
	}
	var b [16]byte
	copy(b[:], net.IPv4(10, 0, 0, 7).To16())
	if got := host6(b); got != "10.0.0.7" {
		t.Errorf("an address of IPv4 is %s", got)
	}
}

func TestPattern(t *testing.T) {
	for name, want := range map[string]string{"upload-12.txt": "upload-*.txt", "a": "a", "001": "*", "a1b22": "a*b*"} {
		if got := Pattern(name); got != want {
			t.Errorf("%q is %q", name, got)
		}
	}
	for name, want := range map[string]string{"TestA": "TestA", "TestA/b c": "TestA", "": "", "TestÄ": "Test"} {
		if got := testPrefix(name); got != want {
			t.Errorf("%q begins %q", name, got)
		}
	}
	if !strings.HasPrefix(filepath.Base(filepath.Dir(t.TempDir())), testPrefix(t.Name())) {
		t.Error("the folder of t.TempDir is named otherwise")
	}
}

func BenchmarkGlance(b *testing.B) {
	for b.Loop() {
		if _, err := TakeGlance(""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	for b.Loop() {
		take(b)
	}
}

// To list descriptors takes one, which a process at its limit has not.
func TestDescriptorsAtTheLimit(t *testing.T) {
	const limit = 64
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	for {
		fd, err := syscall.Dup(0)
		if err == syscall.EMFILE {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(fd)
	}
	l, err := self.takeDescriptors()
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Items) != limit {
		t.Errorf("%d descriptors are listed, of %d", len(l.Items), limit)
	}
}

// What op may leave behind is counted with the limits that it may meet.
func TestLimits(t *testing.T) {
	before, err := CountUses(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const n = 20
	for range n {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
	}
	for i := range 2 * n { // areas of unlike protection are not joined, but perhaps with their neighbours
		m, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ*(i%2), syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Munmap(m)
	}
	now, err := CountUses(before)
	if err != nil {
		t.Fatal(err)
	}
	more := now.Since(before)
	if more[Descriptors] < 2*n || more[Areas] < n {
		t.Errorf("%d descriptors and %d areas are new", more[Descriptors], more[Areas])
	}
	used := make(map[string]int64)
	for _, l := range Limits(now) {
		used[l.Name] = l.Used
		if l.Max <= 0 || l.Used > l.Max {
			t.Error(l.String())
		}
	}
	if p := used["ports of connections (net.ipv4.ip_local_port_range)"]; p < n || p >= 2*n {
		t.Errorf("%d ports are used by %d connections", p, n)
	}
	if a := used["mappings (vm.max_map_count)"]; a < n {
		t.Errorf("%d areas", a)
	}
}

// A file that is made at once after another one is new, too: the time of a folder has the
// resolution of the kernel's clock.
func TestFilesWithinATick(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	own := filepath.Join("TestOwn123", "001") // as t.TempDir makes them
	if err := os.MkdirAll(filepath.Join(folder, own), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		make := func(name string) {
			if err := os.WriteFile(filepath.Join(folder, name+strconv.Itoa(i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		make("a")
		make(filepath.Join(own, "a"))
		for _, name := range []string{"b", filepath.Join(own, "b")} {
			before, err := TakeGlance("TestOwn/case")
			if err != nil {
				t.Fatal(err)
			}
			make(name)
			now, err := before.Again()
			if err != nil {
				t.Fatal(err)
			}
			if now.NewSince(before)[File] == 0 {
				t.Fatal(i, "a new file is not seen: ", name)
			}
		}
	}
}
