// Command service is a server for tests to look into: each address has a shape of code that leaks,
// below /leak/, or that does not, below /healthy/.
package main

import (
	"container/list"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type session struct {
	id   int64
	data [64]byte
}

var (
	mu   sync.Mutex
	next atomic.Int64
)

func newSession() *session { return &session{id: next.Add(1)} }

// locked calls f with the lock that all shapes share.
func locked(f func()) {
	mu.Lock()
	defer mu.Unlock()
	f()
}

var (
	byID      = map[int64]*session{}
	all       []*session
	queue     = list.New()
	concurred sync.Map
	callbacks []func() int64
	base, _   = context.WithCancel(context.Background())
	files     []*os.File
	mappings  [][]byte
	events    = make(chan *session, 1<<20)
	journal   []byte
	handler   = func() int64 { return 0 }
	conns     []net.Conn
	byName    = map[string]any{}
	never     = make(chan struct{})
	gate      sync.Mutex
	chain     *link
	listeners = map[*listener]struct{}{}
	grown     = make(chan int)
)

type link struct {
	next *link
	s    *session
}

type listener struct{ notify func(*session) }

// deepen gets deeper with each value that it receives.
func deepen(depth int) int {
	var frame [128]byte
	for range grown {
		frame[depth%128]++
		depth = deepen(depth + 1)
	}
	return depth + int(frame[0])
}

var leaks = map[string]func(*http.Request){
	"map":     func(*http.Request) { locked(func() { s := newSession(); byID[s.id] = s }) },
	"slice":   func(*http.Request) { locked(func() { all = append(all, newSession()) }) },
	"list":    func(*http.Request) { locked(func() { queue.PushBack(newSession()) }) },
	"syncmap": func(*http.Request) { s := newSession(); concurred.Store(s.id, s) },
	"closure": func(*http.Request) {
		s := newSession()
		locked(func() { callbacks = append(callbacks, func() int64 { return s.id }) })
	},
	"goroutine": func(*http.Request) { go func() { <-never }() },
	"mutex":     func(*http.Request) { go func() { gate.Lock(); gate.Unlock() }() },
	"timer":     func(r *http.Request) { time.AfterFunc(time.Hour, func() { fmt.Println(r.URL) }) },
	"ticker": func(*http.Request) {
		t := time.NewTicker(time.Hour)
		go func() {
			for range t.C {
				next.Add(1)
			}
		}()
	},
	"context": func(*http.Request) { _, _ = context.WithCancel(base) },
	"file":    func(*http.Request) { f, _ := os.Open(os.DevNull); locked(func() { files = append(files, f) }) },
	"descriptor": func(*http.Request) {
		_, _ = syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	},
	"child":   func(*http.Request) { _ = exec.Command("true").Start() },
	"channel": func(*http.Request) { events <- newSession() },
	"bytes":   func(r *http.Request) { locked(func() { journal = append(journal, r.URL.String()...) }) },
	"middleware": func(*http.Request) {
		locked(func() { inner := handler; handler = func() int64 { return inner() + 1 } })
	},
	"mapping": func(*http.Request) {
		b, err := syscall.Mmap(-1, 0, 64<<10, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err == nil {
			b[0] = 1
			locked(func() { mappings = append(mappings, b) })
		}
	},
	"conn": func(r *http.Request) {
		if c, err := net.Dial("tcp", r.Host); err == nil {
			locked(func() { conns = append(conns, c) })
		}
	},
	"interface": func(*http.Request) { locked(func() { byName[fmt.Sprint(next.Add(1))] = newSession() }) },
	"chain":     func(*http.Request) { locked(func() { chain = &link{chain, newSession()} }) },
	"listener":  func(*http.Request) { locked(func() { listeners[&listener{func(*session) {}}] = struct{}{} }) },
	"stack":     func(*http.Request) { grown <- 1 },
	"thread": func(*http.Request) {
		go func() { runtime.LockOSThread(); <-never }()
	},
	"body": func(r *http.Request) { _, _ = http.Get("http://" + r.Host + "/large") },
}

var (
	cache   = map[int64]*session{}
	order   []int64
	buffers = sync.Pool{New: func() any { return new([4096]byte) }}
	ring    [8]*session
	at      int
	workers = make(chan func())
	started int
	current *session
	last    func() int64
	pending []*session
	small   = make(chan *session, 8)
	scratch []byte
	total   atomic.Int64
)

var healthy = map[string]func(*http.Request){
	"plain": func(*http.Request) {},
	"cache": func(*http.Request) {
		locked(func() {
			s := newSession()
			cache[s.id], order = s, append(order, s.id)
			if len(order) > 8 {
				delete(cache, order[0])
				order = append([]int64(nil), order[1:]...)
			}
		})
	},
	"pool":   func(*http.Request) { buffers.Put(buffers.Get()) },
	"window": func(*http.Request) { locked(func() { ring[at%len(ring)] = newSession(); at++ }) },
	"workers": func(*http.Request) {
		locked(func() {
			if started < 8 {
				started++
				go func() {
					for f := range workers {
						f()
					}
				}()
			}
		})
		workers <- func() {}
	},
	"replaced":  func(*http.Request) { locked(func() { current = newSession() }) },
	"closure":   func(*http.Request) { s := newSession(); locked(func() { last = func() int64 { return s.id } }) },
	"goroutine": func(*http.Request) { go func() { time.Sleep(5 * time.Millisecond) }() },
	"timer":     func(*http.Request) { time.AfterFunc(time.Hour, func() {}).Stop() },
	"short": func(*http.Request) {
		s := newSession()
		time.AfterFunc(50*time.Millisecond, func() { total.Add(s.id) })
	},
	"context":  func(*http.Request) { _, cancel := context.WithCancel(base); cancel() },
	"deadline": func(*http.Request) { _, cancel := context.WithTimeout(base, time.Minute); cancel() },
	"file":     func(*http.Request) { f, _ := os.Open(os.DevNull); _ = f.Close() },
	"dropped":  func(*http.Request) { f, _ := os.Open(os.DevNull); runtime.KeepAlive(f) },
	"child":    func(*http.Request) { _ = exec.Command("true").Run() },
	"channel":  func(*http.Request) { small <- newSession(); <-small },
	"flushed": func(*http.Request) {
		locked(func() {
			if pending = append(pending, newSession()); len(pending) == 16 {
				pending = nil
			}
		})
	},
	"scratch": func(r *http.Request) { locked(func() { scratch = append(scratch[:0], r.URL.String()...) }) },
	"garbage": func(*http.Request) {
		for range 100 {
			buffers.Put(new([4096]byte))
		}
	},
	"client": func(r *http.Request) {
		if answer, err := http.Get("http://" + r.Host + "/large"); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	},
	"syncmap": func(*http.Request) { s := newSession(); concurred.Store(s.id, s); concurred.Delete(s.id) },
	"mapping": func(*http.Request) {
		if b, err := syscall.Mmap(-1, 0, 64<<10, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE); err == nil {
			_ = syscall.Munmap(b)
		}
	},
	"cycle": func(*http.Request) {
		a, b := &link{s: newSession()}, &link{}
		a.next, b.next = b, a
		runtime.KeepAlive(a)
	},
}

func main() {
	if os.Getenv("SERVICE_GC") == "off" {
		debug.SetGCPercent(-1)
	}
	gate.Lock()
	go deepen(0)
	go func() { // what a server does beside requests
		for range time.Tick(100 * time.Millisecond) {
			total.Add(1)
		}
	}()
	mux := http.NewServeMux()
	for name, f := range leaks {
		mux.HandleFunc("/leak/"+name, func(_ http.ResponseWriter, r *http.Request) { f(r) })
	}
	for name, f := range healthy {
		mux.HandleFunc("/healthy/"+name, func(_ http.ResponseWriter, r *http.Request) { f(r) })
	}
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
	mux.HandleFunc("/names", func(w http.ResponseWriter, _ *http.Request) {
		for name := range leaks {
			fmt.Fprintln(w, "/leak/"+name)
		}
		for name := range healthy {
			fmt.Fprintln(w, "/healthy/"+name)
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	fmt.Println(http.Serve(l, mux))
}
