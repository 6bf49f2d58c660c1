//go:build linux

package resources

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// release closes, when the test ends, the descriptors that an operation has lost: all that were not
// open before.
func release(t *testing.T) {
	before := make(map[int]bool)
	each := func(f func(fd int)) {
		for fd := range 1 << 16 {
			var st syscall.Stat_t
			if syscall.Fstat(fd, &st) == nil {
				f(fd)
			}
		}
	}
	each(func(fd int) { before[fd] = true })
	t.Cleanup(func() {
		each(func(fd int) {
			if target, _ := os.Readlink(fmt.Sprint("/proc/self/fd/", fd)); !before[fd] && target != "anon_inode:[eventpoll]" && target != "anon_inode:[eventfd]" {
				syscall.Close(fd)
			}
		})
	})
}

// lost makes descriptors whose numbers nobody keeps.
func lost(makes func() []int) judge.Setup {
	return func(t *testing.T) func() {
		release(t)
		return func() { makes() }
	}
}

func closed(makes func() []int) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			for _, fd := range makes() {
				syscall.Close(fd)
			}
		}
	}
}

var numbers []int

func kept(makes func() []int) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() {
			for _, fd := range numbers {
				syscall.Close(fd)
			}
			numbers = nil
		})
		return func() { numbers = append(numbers, makes()...) }
	}
}

func open() []int {
	return []int{must(syscall.Open("/etc/passwd", syscall.O_RDONLY|syscall.O_CLOEXEC, 0))}
}

func openFolder() []int {
	return []int{must(syscall.Open("/etc", syscall.O_RDONLY|syscall.O_CLOEXEC, 0))}
}

func openTerminal() []int {
	return []int{must(syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0))}
}

// openOthers opens another file each time.
func openOthers() []int {
	path := filepath.Join(os.TempDir(), fmt.Sprint("corpus-resources-", os.Getpid(), "-", app.Next()))
	fd := must(syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600))
	syscall.Unlink(path)
	return []int{fd}
}

func openDeleted() []int {
	path := filepath.Join(os.TempDir(), fmt.Sprint("corpus-resources-", os.Getpid()))
	fd := must(syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600))
	syscall.Unlink(path)
	return []int{fd}
}

func duplicate() []int {
	fd := must(syscall.Dup(int(os.Stderr.Fd())))
	syscall.CloseOnExec(fd)
	return []int{fd}
}

func pipe() []int {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		panic(err)
	}
	return p[:]
}

func pipeEnd() []int {
	p := pipe()
	syscall.Close(p[0])
	return p[1:]
}

func pair() []int {
	p := must(syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0))
	return p[:]
}

func poller() []int { return []int{must(syscall.EpollCreate1(syscall.EPOLL_CLOEXEC))} }

func notify() []int { return []int{must(syscall.InotifyInit1(syscall.IN_CLOEXEC))} }

func event() []int {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC, 0)
	if errno != 0 {
		panic(errno)
	}
	return []int{int(fd)}
}

func netlink() []int {
	return []int{must(syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE))}
}

func connect(ln net.Listener) int {
	fd := must(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0))
	to := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: ln.Addr().(*net.TCPAddr).Port}
	if err := syscall.Connect(fd, to); err != nil {
		panic(err)
	}
	return fd
}

// connecting connects to a listener that never accepts: the connections stay in the listener's
// queue.
func connecting(what func(func() []int) judge.Setup) judge.Setup {
	return func(t *testing.T) func() {
		cmd := exec.Command("sleep", "1000") // keeps the listener's queue in another process
		ln := localListener(t)
		file := must(ln.(*net.TCPListener).File())
		cmd.ExtraFiles = []*os.File{file}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		file.Close()
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return what(func() []int { return []int{connect(ln)} })(t)
	}
}

// connectAnywhere connects to another server each time.
func connectAnywhere() []int {
	ln := must(net.Listen("tcp", "127.0.0.1:0"))
	defer ln.Close()
	fd := connect(ln)
	must(ln.Accept()).Close()
	return []int{fd}
}

type connections struct{ conns []net.Conn }

var pool connections

func drainPool() {
	for _, c := range pool.conns {
		c.Close()
	}
	pool.conns = nil
}

// serve accepts connections and holds each until its peer closes it.
func serve(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = c.Read(make([]byte, 1))
		}()
	}
}

// dialing connects and waits until the server has accepted the connection.
func dialing(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		ln := localListener(t)
		taken := make(chan struct{})
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				c.Close()
				taken <- struct{}{}
			}
		}()
		t.Cleanup(drainPool)
		return func() {
			c := must(net.Dial("tcp", ln.Addr().String()))
			<-taken
			if fixed {
				c.Close()
				return
			}
			pool.conns = append(pool.conns, c)
		}
	}
}

var accepted = map[string]net.Conn{}

func accepting(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		ln := localListener(t)
		t.Cleanup(func() {
			for _, c := range accepted {
				c.Close()
			}
			clear(accepted)
		})
		return func() {
			client := must(net.Dial("tcp", ln.Addr().String()))
			c := must(ln.Accept())
			client.Close()
			if fixed {
				c.Close()
				return
			}
			accepted[fmt.Sprint(app.Next())] = c
		}
	}
}

var listeners []net.Listener

func listening(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() {
			for _, ln := range listeners {
				ln.Close()
			}
			listeners = nil
		})
		return func() {
			ln := must(net.Listen("tcp", "127.0.0.1:0"))
			if fixed {
				ln.Close()
				return
			}
			listeners = append(listeners, ln)
		}
	}
}

type receiver struct{ conn *net.UDPConn }

var receivers []receiver

func datagrams(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() {
			for _, r := range receivers {
				r.conn.Close()
			}
			receivers = nil
		})
		return func() {
			c := must(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))
			if fixed {
				c.Close()
				return
			}
			receivers = append(receivers, receiver{c})
		}
	}
}

func unixDialing(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		ln := must(net.Listen("unix", filepath.Join(t.TempDir(), "s")))
		t.Cleanup(func() { ln.Close() })
		t.Cleanup(drainPool)
		return func() {
			c := must(net.Dial("unix", ln.Addr().String()))
			must(ln.Accept()).Close()
			if fixed {
				c.Close()
				return
			}
			pool.conns = append(pool.conns, c)
		}
	}
}

type logger struct{ file *os.File }

var logs []*logger

func files(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() {
			for _, l := range logs {
				l.file.Close()
			}
			logs = nil
		})
		return func() {
			f := must(os.Open("/etc/passwd"))
			if fixed {
				f.Close()
				return
			}
			logs = append(logs, &logger{f})
		}
	}
}

var folders []*os.Root

func roots(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() {
			for _, r := range folders {
				r.Close()
			}
			folders = nil
		})
		return func() {
			r := must(os.OpenRoot("/etc"))
			if fixed {
				r.Close()
				return
			}
			folders = append(folders, r)
		}
	}
}

// started starts a process without package os.
func started(name string, fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		var all []int
		_ = all
		end := func(pid int) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
		var mu sync.Mutex
		record := filepath.Join(t.TempDir(), "pids") // a file, since a list in memory would grow
		t.Cleanup(func() {
			text, _ := os.ReadFile(record)
			for len(text) >= 8 {
				end(int(*(*int64)(unsafe.Pointer(&text[0]))))
				text = text[8:]
			}
		})
		return func() {
			pid := must(syscall.ForkExec(path, []string{name, "1000"}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}}))
			if fixed {
				end(pid)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			f := must(os.OpenFile(record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
			defer f.Close()
			n := int64(pid)
			_, _ = f.Write((*[8]byte)(unsafe.Pointer(&n))[:])
		}
	}
}

// command is dropped after Start: the process ends, and stays a zombie.
func command(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() {
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
					return
				}
			}
		})
		return func() {
			cmd := exec.Command("true")
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			if fixed {
				_ = cmd.Wait()
			}
		}
	}
}

const mapSize = 32 << 10

func mapMemory() uintptr {
	addr, _, errno := syscall.Syscall6(syscall.SYS_MMAP, 0, mapSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON, ^uintptr(0), 0)
	if errno != 0 {
		panic(errno)
	}
	return addr
}

func unmap(addr uintptr) { syscall.Syscall(syscall.SYS_MUNMAP, addr, mapSize, 0) }

func mapped(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			addr := mapMemory()
			if fixed {
				unmap(addr)
			}
		}
	}
}

// mappedLost maps memory by package syscall, whose record has what nobody else refers to.
func mappedLost(fixed bool) judge.Setup {
	return judge.Op(func() {
		b := must(syscall.Mmap(-1, 0, mapSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON))
		if fixed {
			_ = syscall.Munmap(b)
		}
	})
}

func text(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var views [][]byte

func mappedFile(fixed bool) judge.Setup { return viewed(4096, 4096, fixed) }

// viewed keeps a slice of the first length bytes of a mapping, outside of the Go heap. The capacity
// of the slice is the whole mapping.
func viewed(size, length int, fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		f := must(os.Open(text(t)))
		t.Cleanup(func() {
			for _, v := range views {
				_ = syscall.Munmap(v[:cap(v)])
			}
			views = nil
			f.Close()
		})
		return func() {
			v := must(syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED))
			if fixed {
				_ = syscall.Munmap(v)
				return
			}
			views = append(views, v[:length])
		}
	}
}

// threads has goroutines that are locked to their threads. In the leak, they stay locked until the
// test ends.
func threads(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		end := make(chan struct{})
		t.Cleanup(func() { close(end) })
		return func() {
			started, ended := make(chan struct{}), make(chan struct{})
			go func() {
				runtime.LockOSThread()
				close(started)
				if !fixed {
					<-end
				}
				runtime.UnlockOSThread()
				close(ended)
			}()
			<-started
			if fixed {
				<-ended
			}
		}
	}
}

// visit calls itself for each name that it receives, so that its stack is as deep as the number of
// names.
func visit(names chan string, done chan<- int, depth int, fixed bool) {
	var room [4096]byte
	for name := range names {
		copy(room[depth%8:], name)
		done <- int(room[0])
		if !fixed {
			visit(names, done, depth+1, fixed)
		}
	}
}

func recursing(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		names, done := make(chan string), make(chan int)
		go visit(names, done, 0, fixed)
		t.Cleanup(func() { close(names) })
		return func() {
			names <- "name"
			<-done
		}
	}
}

func temporary(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Setenv("TMPDIR", t.TempDir())
		return func() {
			f := must(os.CreateTemp("", "upload-*"))
			f.Close()
			if fixed {
				os.Remove(f.Name())
			}
		}
	}
}

func temporaryFolders(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Setenv("TMPDIR", t.TempDir())
		return func() {
			dir := must(os.MkdirTemp("", "work-*"))
			if fixed {
				os.RemoveAll(dir)
			}
		}
	}
}
