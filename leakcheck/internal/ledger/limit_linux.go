package ledger

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"
)

// A Limit is a limit of the system, and how much of it is used. What others use of a limit that
// several processes share is unknown for inotify, and 0.
type Limit struct {
	Name      string // "inotify instances (fs.inotify.max_user_instances)"
	Kind      Kind   // of the resources that use it
	Used, Max int64
}

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
	if folder := pidsFolder(); folder != "" {
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

// pidsFolder returns the folder of the control group that limits the number of this process's
// tasks, "" if there is none (cgroups(7), /proc/[pid]/cgroup).
func pidsFolder() string {
	text, err := readFile("/proc/self/cgroup", make([]byte, 1024))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || fields[1] != "" && fields[1] != "pids" {
			continue
		}
		folder := "/sys/fs/cgroup" + strings.TrimSuffix("/"+fields[1], "/") + strings.TrimSuffix(fields[2], "/")
		if readNumber(folder+"/pids.max") > 0 {
			return folder
		}
	}
	return ""
}

// CountTasks returns how many descriptors are open, and how many threads and child processes there
// are, plus a constant. It takes some microseconds.
func CountTasks() (descriptors, tasks int64, err error) {
	if err := eachDescriptor(func(int) error { descriptors++; return nil }); err != nil {
		return 0, 0, err
	}
	var st syscall.Stat_t
	if err := syscall.Stat("/proc/self/task", &st); err != nil { // see Glance.Renew
		return 0, 0, err
	}
	tasks = int64(st.Nlink)
	return descriptors, tasks, eachChild(func(int, string, byte) { tasks++ })
}

// String returns "128 of 128 inotify instances (fs.inotify.max_user_instances)".
func (l *Limit) String() string { return fmt.Sprintf("%d of %d %s", l.Used, l.Max, l.Name) }
