//go:build linux

package resources

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"example.com/corpus/app"
)

// poolAtItsLimit opens up to eight connections, and uses them by turns.
func poolAtItsLimit(t *testing.T) func() {
	ln := localListener(t)
	go serve(ln)
	t.Cleanup(drainPool)
	return func() {
		if len(pool.conns) < 8 {
			pool.conns = append(pool.conns, must(net.Dial("tcp", ln.Addr().String())))
		}
		c := pool.conns[0]
		pool.conns = append(pool.conns[1:], c)
	}
}

// poolReplaces closes the oldest connection for each that it opens.
func poolReplaces(t *testing.T) func() {
	ln := localListener(t)
	go serve(ln)
	t.Cleanup(drainPool)
	return func() {
		pool.conns = append(pool.conns, must(net.Dial("tcp", ln.Addr().String())))
		if len(pool.conns) > 4 {
			pool.conns[0].Close()
			pool.conns = append([]net.Conn(nil), pool.conns[1:]...)
		}
	}
}

// byTurns opens descriptors one by one, and closes all of them when there are ten.
func byTurns(t *testing.T) func() {
	var open []*os.File
	t.Cleanup(func() {
		for _, f := range open {
			f.Close()
		}
	})
	return func() {
		open = append(open, must(os.Open("/etc/passwd")))
		if len(open) == 10 {
			for _, f := range open {
				f.Close()
			}
			open = open[:0]
		}
	}
}

// openedLazily opens one file, in one of many calls.
func openedLazily(t *testing.T) func() {
	calls := 0
	var f *os.File
	t.Cleanup(func() { f.Close() })
	return func() {
		if calls++; calls == 25 {
			f = must(os.Open("/etc/passwd"))
		}
	}
}

// droppedFiles are closed by the finalizers of their objects.
func droppedFiles(t *testing.T) func() {
	return func() { must(os.Open("/etc/passwd")) }
}

// keepAlive uses one connection again and again.
func keepAlive(t *testing.T) func() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(server.Close)
	return func() {
		resp := must(server.Client().Get(server.URL))
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func resolves(t *testing.T) func() {
	r := &net.Resolver{PreferGo: true}
	return func() { _, _ = r.LookupHost(context.Background(), "localhost") }
}

func randomness(t *testing.T) func() {
	return func() { _, _ = rand.Read(make([]byte, 16)) }
}

// waitedLater waits for each process after it has started the next one.
func waitedLater(t *testing.T) func() {
	var last *exec.Cmd
	t.Cleanup(func() { _ = last.Wait() })
	return func() {
		cmd := exec.Command("true")
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if last != nil {
			_ = last.Wait()
		}
		last = cmd
	}
}

func mappedInTurns(t *testing.T) func() {
	var last uintptr
	t.Cleanup(func() { unmap(last) })
	return func() {
		next := mapMemory()
		if last != 0 {
			unmap(last)
		}
		last = next
	}
}

// mappedCache maps memory once for each of eight keys.
func mappedCache(t *testing.T) func() {
	cache := make(map[int]uintptr)
	t.Cleanup(func() {
		for _, addr := range cache {
			unmap(addr)
		}
	})
	return func() {
		if key := app.Next() % 8; cache[key] == 0 {
			cache[key] = mapMemory()
		}
	}
}

// blockedThreads runs ten goroutines that block in system calls.
func blockedThreads(t *testing.T) func() {
	return func() {
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				p := pipe()
				defer syscall.Close(p[0])
				defer syscall.Close(p[1])
				var one sync.WaitGroup
				one.Go(func() { _, _ = syscall.Read(p[0], make([]byte, 1)) })
				runtime.Gosched()
				_, _ = syscall.Write(p[1], []byte{1})
				one.Wait()
			})
		}
		all.Wait()
	}
}

func deeper(n int) int {
	var room [256]byte
	if n == 0 {
		return len(room)
	}
	room[n%256] = 1
	return deeper(n-1) + int(room[0])
}

// recursion grows the stack of a goroutine, which shrinks again.
func recursion(t *testing.T) func() {
	calls := make(chan int)
	done := make(chan int)
	go func() {
		for n := range calls {
			done <- deeper(n)
		}
	}()
	t.Cleanup(func() { close(calls) })
	return func() {
		calls <- 1000
		<-done
	}
}

func testFolders(t *testing.T) func() {
	return func() {
		if err := os.WriteFile(filepath.Join(t.TempDir(), "text"), []byte("text"), 0o600); err != nil {
			panic(err)
		}
	}
}

func filesReplaced(t *testing.T) func() {
	t.Setenv("TMPDIR", t.TempDir())
	last := ""
	return func() {
		f := must(os.CreateTemp("", "state-*"))
		f.Close()
		if last != "" {
			os.Remove(last)
		}
		last = f.Name()
	}
}

// logsRotate keeps three files.
func logsRotate(t *testing.T) func() {
	t.Setenv("TMPDIR", t.TempDir())
	n := 0
	var current *os.File
	t.Cleanup(func() { current.Close() })
	return func() {
		if current != nil {
			current.Close()
		}
		n++
		current = must(os.Create(filepath.Join(os.TempDir(), fmt.Sprint("log.", n%3))))
	}
}

// environmentSet sets a variable to one of four values: in a program with cgo, glibc would keep
// each new value (stdlib/setenv.c).
func environmentSet(t *testing.T) func() {
	t.Setenv("CORPUS_REQUEST", "")
	return func() { os.Setenv("CORPUS_REQUEST", fmt.Sprint(app.Next()%4)) }
}
