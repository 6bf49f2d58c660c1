package ledger

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/leakgate/leakgate/internal/procfs"
)

// A Glance tells the resources of one moment apart without naming them, which takes some
// microseconds for each descriptor and mapping.
type Glance struct {
	descriptors DescriptorSet
	threads     int64 // number of threads, plus a constant
	children    map[int]bool
	mapped      int64 // bytes of mappings that are neither Go's nor a library's
	stacks      int64 // bytes
	folders     []string
	changed     []syscall.Timespec // when files came to each folder, or went
	variables   int64
}

// A DescriptorSet tells open descriptors apart.
type DescriptorSet map[descriptor]bool

// A descriptor is identified by its number and by the file that it is open on, since numbers are
// used again.
type descriptor struct {
	number   int
	dev, ino uint64
}

// ListDescriptors lists the open descriptors without naming them. It returns an error where /proc
// is missing.
func ListDescriptors() (DescriptorSet, error) {
	d := make(DescriptorSet)
	return d, d.list()
}

// list adds the open descriptors.
func (d DescriptorSet) list() error {
	return eachDescriptor(func(fd int) error {
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil {
			if err == syscall.EBADF {
				return nil // closed meanwhile
			}
			return &os.PathError{Op: "fstat", Path: "/proc/self/fd/" + strconv.Itoa(fd), Err: err}
		}
		d[descriptor{fd, st.Dev, st.Ino}] = true
		return nil
	})
}

// OpenedSince names the descriptors that are open now and were not before.
func OpenedSince(before DescriptorSet) ([]Item, error) {
	now, err := ListDescriptors()
	if err != nil {
		return nil, err
	}
	opened := make(map[int]bool)
	for d := range now {
		opened[d.number] = !before[d]
	}
	l, err := self.takeDescriptors()
	if err != nil {
		return nil, err
	}
	l.Drop(func(it *Item) bool { return !opened[it.Number] })
	return l.Items, nil
}

// TakeGlance reads the resources, for a test of this name or none. What cannot be read is an error.
func TakeGlance(test string) (*Glance, error) {
	files := temporary{prefix: testPrefix(test), file: func(string, string) {}}
	_ = files.list(os.TempDir(), 0) // the ledger of a snapshot names the error
	return (&Glance{folders: files.folders}).Again()
}

// Again reads the resources into a new glance. It looks at the folders of g alone: a folder made
// since then has changed the one that it lies in.
func (g *Glance) Again() (*Glance, error) {
	now := &Glance{descriptors: make(DescriptorSet), children: make(map[int]bool), folders: g.folders}
	if err := eachMapping(func(name string, size int64) {
		if isJudged(name) {
			now.mapped += size
		}
	}); err != nil {
		return nil, err
	}
	return now, now.Renew()
}

// Renew reads all but mappings again. It reuses the glance's memory.
func (g *Glance) Renew() error {
	clear(g.descriptors)
	clear(g.children)
	err := g.descriptors.list()
	if err != nil {
		return err
	}
	// The folder's number of links is that of threads and a constant (linux fs/proc/base.c,
	// proc_task_getattr): to read the number itself takes six times as long.
	var st syscall.Stat_t
	if err = syscall.Stat("/proc/self/task", &st); err != nil {
		return &os.PathError{Op: "stat", Path: "/proc/self/task", Err: err}
	}
	g.threads = int64(st.Nlink)
	if err = eachChild(func(pid int, _ string, _ byte) { g.children[pid] = true }); err != nil {
		return err
	}
	g.stacks = stackBytes()
	g.changed = g.changed[:0]
	for _, folder := range g.folders {
		st.Mtim = syscall.Timespec{}
		_ = syscall.Stat(folder, &st) // no folder has never changed
		g.changed = append(g.changed, st.Mtim)
	}
	g.variables = int64(len(os.Environ()))
	return nil
}

// NewSince returns how much of each kind is new. Every new descriptor and child process counts,
// even if others are gone; of threads, mappings, stacks and variables the difference counts. Of
// temporary files it is known only whether any came or went, which counts as very many.
func (g *Glance) NewSince(before *Glance) (found Amounts) {
	for d := range g.descriptors {
		if !before.descriptors[d] {
			found[Descriptor]++
		}
	}
	for pid := range g.children {
		if !before.children[pid] {
			found[Process]++
		}
	}
	found[Thread] = g.threads - before.threads
	found[Mapping] = g.mapped - before.mapped
	found[Stack] = g.stacks - before.stacks
	found[Variable] = g.variables - before.variables
	if !slices.Equal(g.changed, before.changed) {
		found[File] = 1 << 40
	}
	return found
}

// eachDescriptor calls f for each open descriptor of this process but its own. To list them takes a
// descriptor; if there is none left, the process uses all that its limit allows.
func eachDescriptor(f func(fd int) error) error {
	err := self.eachDescriptor(f)
	var l syscall.Rlimit
	if errors.Is(err, syscall.EMFILE) && syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
		err = nil
		for fd := 0; fd < int(l.Cur) && err == nil; fd++ {
			err = f(fd)
		}
	}
	return err
}

// eachDescriptor calls f for each open descriptor of the process, but, in this process, its own.
func (p *process) eachDescriptor(f func(fd int) error) error {
	return eachEntry(p.dir+"/fd", func(name []byte, own int) error {
		fd, err := strconv.Atoi(string(name))
		if err != nil || fd == own && p.pid == 0 {
			return nil
		}
		return f(fd)
	})
}

// eachEntry calls f for each entry of a folder. It does without package os, which asks the poller
// whether it can watch a folder, and stats each entry. own is the folder's descriptor.
func eachEntry(folder string, f func(name []byte, own int) error) error {
	dir, err := syscall.Open(folder, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: folder, Err: err}
	}
	defer syscall.Close(dir)
	var buf [8192]byte
	for {
		n, err := syscall.Getdents(dir, buf[:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "read", Path: folder, Err: err}
		}
		if n == 0 {
			return nil
		}
		// struct linux_dirent64: inode and offset, 8 bytes each, length (2), type (1), name
		for rest := buf[:n]; len(rest) >= 19; {
			size := int(binary.NativeEndian.Uint16(rest[16:]))
			if size < 19 || size > len(rest) {
				return errors.New(folder + " cannot be read: an entry is malformed")
			}
			name, _, _ := bytes.Cut(rest[19:size], []byte{0})
			if string(name) != "." && string(name) != ".." {
				if err := f(name, dir); err != nil {
					return err
				}
			}
			rest = rest[size:]
		}
	}
}

func (p *process) countThreads() (int64, error) {
	stat, err := procfs.ReadStat(p.dir)
	return stat.Threads, err
}

// eachChild calls f for each child process of this one; see process.eachChild.
func eachChild(f func(pid int, name string, state byte)) error {
	const (
		all     = 0 // P_ALL
		options = syscall.WNOHANG | syscall.WEXITED | syscall.WNOWAIT
	)
	var info [128]byte // siginfo_t
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, all, 0, uintptr(unsafe.Pointer(&info)), options, 0, 0)
	if errno == syscall.ECHILD {
		return nil
	}
	return self.eachChild(f)
}

// eachChild calls f for each child process that the process can wait for, with the name of its
// command and its state: 'Z' if it has ended.
func (p *process) eachChild(f func(pid int, name string, state byte)) error {
	parent := int64(cmp.Or(p.pid, os.Getpid()))
	see := func(pid string, check bool) {
		stat, err := procfs.ReadStat("/proc/" + pid)
		if err != nil {
			return // it is gone
		}
		// a snapshot's frozen process sends no signal at its end, and is no child to wait for
		if stat.ExitSignal != int64(syscall.SIGCHLD) || check && stat.Parent != parent {
			return
		}
		if n, err := strconv.Atoi(pid); err == nil {
			f(n, stat.Name, stat.State)
		}
	}
	tasks := p.dir + "/task"
	err := eachEntry(tasks, func(thread []byte, _ int) error {
		list, err := procfs.Read(tasks+"/"+string(thread)+"/children", make([]byte, 512))
		if errors.Is(err, syscall.ENOENT) {
			if _, gone := os.Stat(tasks + "/" + string(thread)); gone != nil {
				return nil
			}
		}
		if err != nil {
			return err
		}
		for _, pid := range strings.Fields(string(list)) {
			see(pid, false)
		}
		return nil
	})
	if err == nil || !errors.Is(err, syscall.ENOENT) {
		return err
	}
	// a kernel without CONFIG_PROC_CHILDREN
	return eachEntry("/proc", func(pid []byte, _ int) error {
		if pid[0] >= '0' && pid[0] <= '9' {
			see(string(pid), true)
		}
		return nil
	})
}

// stackBytes returns how much memory goroutine stacks take.
func stackBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
