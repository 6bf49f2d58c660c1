package ledger

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/leakgate/leakgate/internal/procfs"
)

// Take lists the resources. test is the name of the running test, whose own temporary folders are
// read; it may be "". It returns an error if descriptors or threads cannot be read. Other failures
// are in Missing.
func Take(test string) (*Ledger, error) {
	l, err := self.take(eachChild, stackBytes(), eachMapping)
	if err != nil {
		return nil, err
	}
	l.addFiles(os.TempDir(), test)
	n := int64(len(os.Environ()))
	l.add(Variable, n, "", "environment variables", "environment variables", "environment variables")
	return l, nil
}

// take lists the resources that any process may have.
func (p *process) take(eachChild func(func(pid int, name string, state byte)) error, stacks int64, eachMapping func(func(name string, size int64)) error) (*Ledger, error) {
	l, err := p.takeDescriptors()
	if err != nil {
		return nil, err
	}
	threads, err := p.countThreads()
	if err != nil {
		return nil, err
	}
	l.add(Thread, threads, "", "threads", "threads", "threads")
	if err := eachChild(func(pid int, name string, state byte) {
		said := "running"
		if state == 'Z' {
			said = "ended, and not waited for"
		}
		l.add(Process, 1, said, name, "child processes", "child processes")
		l.Items[len(l.Items)-1].Number = pid
	}); err != nil {
		l.Missing = append(l.Missing, Unread{Process, err})
	}
	l.add(Stack, stacks, "", "goroutine stacks", "goroutine stacks", "goroutine stacks")
	if err := eachMapping(func(name string, size int64) {
		if isJudged(name) {
			l.add(Mapping, size, "", name, "mapped files", "mapped files")
		}
	}); err != nil {
		l.Missing = append(l.Missing, Unread{Mapping, err})
	}
	return l, nil
}

// takeDescriptors lists descriptors alone.
func (p *process) takeDescriptors() (*Ledger, error) {
	var fds []int
	each := p.eachDescriptor
	if p.pid == 0 {
		each = eachDescriptor
	}
	if err := each(func(fd int) error { fds = append(fds, fd); return nil }); err != nil {
		return nil, err
	}
	l := &Ledger{}
	l.addDescriptors(p, fds)
	return l, nil
}

func (l *Ledger) add(k Kind, size int64, state string, names ...string) {
	it := Item{Kind: k, State: state, Size: size}
	copy(it.Names[:], names)
	l.Items = append(l.Items, it)
}

// maxFiles bounds how many temporary files are read: in a folder with more, other processes make
// and remove files. A folder that had fewer may have got the others by this process, so that the
// bound is maxOwnFiles from then on.
const (
	maxFiles    = 20_000
	maxOwnFiles = 10 * maxFiles
)

// hadFewFiles is set once all temporary files were read.
var hadFewFiles atomic.Bool

// addFiles adds the temporary files, by names that the next run of the test has, too. The folders
// that t.TempDir makes are removed with the test: only growth within one of them counts.
func (l *Ledger) addFiles(folder, test string) {
	t := temporary{prefix: testPrefix(test), file: func(dir, name string) {
		of := Pattern(dir)
		group, all := "files in "+dir, "temporary files"
		if dir != folder {
			all = group
			of = filepath.Join(Pattern(filepath.Dir(dir)), filepath.Base(dir))
		}
		l.add(File, 1, "", filepath.Join(of, Pattern(name)), group, all)
	}}
	others := len(l.Items)
	if err := t.list(folder, 0); err != nil {
		l.Missing = append(l.Missing, Unread{File, err})
		l.Items = l.Items[:others]
		return
	}
	hadFewFiles.Store(true)
}

// temporary lists the folder for temporary files, and the folders that package testing made in it
// for a test: t.TempDir returns the folders 001, 002, ... of one that is named after the test, with
// what is no letter or digit of ASCII left out or replaced (go1.26 testing/testing.go, TempDir).
type temporary struct {
	prefix  string                 // how the name of the test's folder begins; "": there is none
	file    func(dir, name string) // called for each file
	folders []string               // that were listed
	entries int
}

// most is how many entries are read.
func (t *temporary) most() int {
	if hadFewFiles.Load() {
		return maxOwnFiles
	}
	return maxFiles
}

// list lists a folder, at a depth below the one for temporary files.
func (t *temporary) list(dir string, depth int) error {
	t.folders = append(t.folders, dir)
	return eachEntry(dir, func(entry []byte, _ int) error {
		if t.entries++; t.entries > t.most() {
			return fmt.Errorf("there are more than %d", t.most())
		}
		name := string(entry)
		if depth == 1 || depth == 0 && t.prefix != "" && strings.HasPrefix(name, t.prefix) {
			_ = t.list(filepath.Join(dir, name), depth+1) // it may be removed meanwhile, or be no folder
		} else {
			t.file(dir, name)
		}
		return nil
	})
}

// testPrefix is how the name of a test's temporary folder begins: its letters and digits up to the
// first other character, which older Go versions leave out and newer ones replace.
func testPrefix(test string) string {
	for i, r := range test {
		if r != '_' && !('0' <= r && r <= '9') && !('A' <= r && r <= 'Z') && !('a' <= r && r <= 'z') {
			return test[:i]
		}
	}
	return test
}

// addDescriptors adds the descriptors, named by what they are open on.
func (l *Ledger) addDescriptors(p *process, fds []int) {
	first := len(l.Items)
	var sockets []*socket
	for _, fd := range fds {
		target, err := p.readlink(fd)
		if err == syscall.ENOENT {
			continue // closed meanwhile
		}
		it := Item{Kind: Descriptor, Number: fd, Size: 1, own: p.isInherited(fd, target)}
		name, group := target, ""
		kind, rest, _ := strings.Cut(target, ":")
		switch {
		case err != nil: // such as a path of more than a page
			name, group, it.State = "descriptor of unknown name", "descriptors of unknown name", err.Error()
		case kind == "socket":
			if s := p.readSocket(fd); s != nil {
				s.item = len(l.Items)
				sockets = append(sockets, s)
			}
			name, group = "socket", "sockets"
		case kind == "pipe":
			name, group, it.State = "pipe", "pipes", p.pipeEnd(fd)
		case kind == "anon_inode", kind == "pidfd", kind == "nsfs", kind == "net", kind == "mnt":
			name = strings.Trim(rest, "[]")
			if kind == "pidfd" {
				name = "pidfd"
			}
			group = "anonymous descriptors"
		case strings.HasPrefix(target, "/memfd:"):
			name, group = "memfd "+strings.TrimSuffix(target[len("/memfd:"):], " (deleted)"), "memfds"
		case strings.HasPrefix(target, "/"):
			deleted := ""
			name, deleted = cutSuffix(target, " (deleted)")
			it.State = strings.Trim(deleted, " ()")
			group = "files in " + filepath.Dir(name)
		}
		it.Names = [levels]string{name, group, "descriptors"}
		if strings.HasPrefix(target, "/") && group != "memfds" {
			it.Names[2] = "files"
		}
		l.Items = append(l.Items, it)
	}
	nameSockets(l.Items, sockets)
	p.markPoller(l.Items[first:])
}

func cutSuffix(s, suffix string) (before, found string) {
	if b, ok := strings.CutSuffix(s, suffix); ok {
		return b, suffix
	}
	return s, ""
}

func (p *process) readlink(fd int) (string, error) {
	var buf [4096]byte
	n, err := syscall.Readlink(p.dir+"/fd/"+strconv.Itoa(fd), buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// pipeEnd says which end of a pipe a descriptor is.
func (p *process) pipeEnd(fd int) string {
	fd, back := p.borrow(fd)
	defer back()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	switch {
	case errno != 0:
		return ""
	case flags&syscall.O_ACCMODE == syscall.O_WRONLY:
		return "write end"
	case flags&syscall.O_ACCMODE == syscall.O_RDONLY:
		return "read end"
	}
	return ""
}

// markPoller marks the descriptors of the runtime's poller: an epoll and an eventfd in it, which
// the poller watches by an address (go1.26) or zero (go1.27 runtime/netpoll_epoll.go, netpollinit)
// where other programs have the number of the descriptor. The runtime opens both when the first
// file or connection needs them.
func (p *process) markPoller(items []Item) {
	for i := range items {
		if items[i].Names[0] != "eventpoll" {
			continue
		}
		info, err := procfs.Read(p.dir+"/fdinfo/"+strconv.Itoa(items[i].Number), make([]byte, 1024))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(info) {
			f := strings.Fields(string(line)) // tfd: 5 events: 19 data: 6bc1a0 pos:0 ...
			if len(f) < 6 || f[0] != "tfd:" || f[4] != "data:" || len(f[5]) < 5 && f[5] != "0" {
				continue
			}
			for j := range items {
				if items[j].Names[0] == "eventfd" && strconv.Itoa(items[j].Number) == f[1] {
					items[i].own, items[j].own = true, true
				}
			}
		}
	}
}
