package ledger

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
)

// Limits returns the limits that an operation that leaves descriptors, threads or child processes
// behind may meet. It leaves out those that cannot be read. It takes some hundred microseconds.
func Limits() []Limit {
	var all []Limit
	add := func(name string, kind Kind, used, most int64) {
		if most > 0 && most < math.MaxInt64 {
			all = append(all, Limit{name, kind, used, most})
		}
	}
	var descriptors, inotify, watches int64
	if err := eachDescriptor(func(fd int) error {
		descriptors++
		if name, err := readlink(fd); err == nil && strings.HasSuffix(name, "inotify") {
			inotify++
			info, _ := readFile("/proc/self/fdinfo/"+strconv.Itoa(fd), make([]byte, 512))
			watches += int64(bytes.Count(info, []byte("inotify wd:"))) // linux fs/notify/fdinfo.c
		}
		return nil
	}); err == nil {
		add("descriptors (ulimit -n)", Descriptor, descriptors, rlimit(syscall.RLIMIT_NOFILE))
	}
	if inotify > 0 {
		most := readNumber("/proc/sys/fs/inotify/max_user_instances")
		if fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC); err == nil {
			syscall.Close(fd)
		} else if err == syscall.EMFILE && descriptors < rlimit(syscall.RLIMIT_NOFILE) {
			inotify = most // with those of the user's other processes
		}
		add("inotify instances (fs.inotify.max_user_instances)", Descriptor, inotify, most)
		add("inotify watches (fs.inotify.max_user_watches)", Descriptor, watches, readNumber("/proc/sys/fs/inotify/max_user_watches"))
	}
	if threads, err := countThreads(); err == nil {
		const rlimitNPROC = 6
		add("processes and threads (ulimit -u)", Thread, threads, rlimit(rlimitNPROC))
		add("threads (kernel.threads-max)", Thread, threads, readNumber("/proc/sys/kernel/threads-max"))
	}
	for _, folder := range (headroom.System{}).Groups("pids") {
		add("processes and threads ("+folder+"/pids.max)", Thread, readNumber(folder+"/pids.current"), readNumber(folder+"/pids.max"))
	}
	return all
}

// rlimit returns a limit of this process, 0 if there is none.
func rlimit(of int) int64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(of, &l); err != nil || l.Cur > math.MaxInt64 {
		return 0
	}
	return int64(l.Cur)
}

// readNumber returns the number in a file of the kernel's, 0 if it has none.
func readNumber(name string) int64 {
	text, err := readFile(name, make([]byte, 64))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n
}

// CountDescriptors returns how many descriptors are open. It takes some microseconds.
func CountDescriptors() (n int64, err error) {
	err = eachDescriptor(func(int) error { n++; return nil })
	return n, err
}

// CountTasks returns how many threads and child processes there are, plus a constant. It takes some
// microseconds.
func CountTasks() (n int64, err error) {
	var st syscall.Stat_t
	if err := syscall.Stat("/proc/self/task", &st); err != nil { // see Glance.Renew
		return 0, err
	}
	n = int64(st.Nlink)
	err = eachChild(func(int, string, byte) { n++ })
	return n, err
}
