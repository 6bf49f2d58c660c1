package ledger

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/procfs"
)

// Limits returns the limits that an operation may meet that leaves behind what uses counts. It
// leaves out those that cannot be read. It takes some hundred microseconds.
func Limits(u *Uses) []Limit {
	var all []Limit
	add := func(of Use, name string, used, most int64) {
		if most > 0 && most < math.MaxInt64 {
			all = append(all, Limit{name, of, used, most})
		}
	}
	limitsOfDescriptors(add)
	if threads, err := self.countThreads(); err == nil {
		const rlimitNPROC = 6
		add(Tasks, "processes and threads (ulimit -u)", threads, rlimit(rlimitNPROC))
		add(Tasks, "threads (kernel.threads-max)", threads, readNumber("/proc/sys/kernel/threads-max"))
	}
	for _, folder := range (headroom.System{}).Groups("pids") {
		add(Tasks, "processes and threads ("+folder+"/pids.max)", readNumber(folder+"/pids.current"), readNumber(folder+"/pids.max"))
	}
	add(Areas, "mappings (vm.max_map_count)", u.Amounts[Areas], readNumber("/proc/sys/vm/max_map_count"))
	if status, err := procfs.Read("/proc/thread-self/status", make([]byte, 4096)); err == nil {
		const (
			rlimitMEMLOCK = 8
			ipcLock       = 14 // CAP_IPC_LOCK: the limit does not apply (capabilities(7))
		)
		if statusNumber(status, "CapEff:", 16)>>ipcLock&1 == 0 {
			add(LockedBytes, "locked bytes (ulimit -l)", u.Amounts[LockedBytes], rlimit(rlimitMEMLOCK))
		}
	}
	return all
}

// limitsOfDescriptors adds the limits of open descriptors, of those of inotify, and of ports.
func limitsOfDescriptors(add func(of Use, name string, used, most int64)) {
	var open, inotify, watches int64
	ports := portRange()
	if eachDescriptor(func(fd int) error {
		open++
		switch name, _ := self.readlink(fd); {
		case strings.HasSuffix(name, "inotify"):
			inotify++
			info, _ := procfs.Read("/proc/self/fdinfo/"+strconv.Itoa(fd), make([]byte, 512))
			watches += int64(bytes.Count(info, []byte("inotify wd:"))) // linux fs/notify/fdinfo.c
		case strings.HasPrefix(name, "socket:"):
			ports.note(fd)
		}
		return nil
	}) != nil {
		return
	}
	add(Descriptors, "descriptors (ulimit -n)", open, rlimit(syscall.RLIMIT_NOFILE))
	if inotify > 0 {
		most := readNumber("/proc/sys/fs/inotify/max_user_instances")
		if fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC); err == nil {
			syscall.Close(fd)
		} else if err == syscall.EMFILE && open < rlimit(syscall.RLIMIT_NOFILE) {
			inotify = most // with those of the user's other processes
		}
		add(Descriptors, "inotify instances (fs.inotify.max_user_instances)", inotify, most)
		add(Descriptors, "inotify watches (fs.inotify.max_user_watches)", watches, readNumber("/proc/sys/fs/inotify/max_user_watches"))
	}
	if used := int64(len(ports.used)); used > 0 {
		add(Descriptors, "ports of connections (net.ipv4.ip_local_port_range)", used, int64(ports.last-ports.first+1))
	}
}

// ephemeral are the ports that the system chooses from for a connection.
type ephemeral struct {
	first, last int
	used        map[int]bool // by this process
}

// portRange returns the ports, none of them used; none if they cannot be read.
func portRange() *ephemeral {
	p := &ephemeral{last: -1, used: make(map[int]bool)}
	text, _ := procfs.Read("/proc/sys/net/ipv4/ip_local_port_range", make([]byte, 64))
	if f := strings.Fields(string(text)); len(f) == 2 {
		first, err1 := strconv.Atoi(f[0])
		last, err2 := strconv.Atoi(f[1])
		if err1 == nil && err2 == nil {
			p.first, p.last = first, last
		}
	}
	return p
}

// note notes the port of a socket. A connection that was accepted has that of the listener.
func (p *ephemeral) note(fd int) {
	if s := self.readSocket(fd); s != nil && p.first <= s.local.port && s.local.port <= p.last {
		p.used[s.local.port] = true
	}
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
	text, err := procfs.Read(name, make([]byte, 64))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n
}

// CountUses returns how much this process uses. It does not count areas again if there is no more
// virtual memory than before; that may be nil. It takes some ten microseconds.
func CountUses(before *Uses) (*Uses, error) {
	u := new(Uses)
	err := eachDescriptor(func(int) error { u.Amounts[Descriptors]++; return nil })
	if err != nil {
		return nil, err
	}
	var st syscall.Stat_t
	if err := syscall.Stat("/proc/self/task", &st); err != nil { // see Glance.Renew
		return nil, err
	}
	u.Amounts[Tasks] = int64(st.Nlink)
	if err := eachChild(func(int, string, byte) { u.Amounts[Tasks]++ }); err != nil {
		return nil, err
	}
	status, err := procfs.Read("/proc/self/status", make([]byte, 4096))
	if err != nil {
		return nil, err
	}
	u.virtual = statusNumber(status, "VmSize:", 10)
	u.Amounts[LockedBytes] = statusNumber(status, "VmLck:", 10) << 10
	if before != nil && u.virtual <= before.virtual {
		u.Amounts[Areas] = before.Amounts[Areas]
		return u, nil
	}
	u.Amounts[Areas], err = countAreas()
	return u, err
}

// countAreas returns how many areas of memory are mapped.
func countAreas() (int64, error) {
	maps, err := procfs.Read("/proc/self/maps", make([]byte, 16<<10))
	return int64(bytes.Count(maps, []byte{'\n'})), err
}

// statusNumber returns the number in a line of a file status (proc_pid_status(5)), 0 if there is
// none.
func statusNumber(status []byte, line string, base int) int64 {
	_, rest, _ := bytes.Cut(status, []byte("\n"+line))
	text, _, _ := bytes.Cut(bytes.TrimLeft(rest, " \t"), []byte("\n"))
	text, _, _ = bytes.Cut(text, []byte(" "))
	n, _ := strconv.ParseInt(string(text), base, 64)
	return n
}
