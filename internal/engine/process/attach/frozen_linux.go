//go:build amd64 || arm64

package attach

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/procfs"
)

// Frozen is a copy of a process, or the process itself while it is stopped. It is an image.Source.
type Frozen struct {
	Result
	pid           int
	copied        int   // pid of the copy, 0 if there is none
	copyPIDInside int64 // the copy's pid as the process itself numbers it
	memory        *os.File
	tracer        *tracer
	on            *stopped // the stopped process, if there is no copy
	asideFailed   string   // why there was no copy while the main thread was left aside
	since         time.Time
	mapped        [][]byte    // memory that Copy has handed out
	pages         *pageReturn // nil: the copy keeps its memory
	faults        int64       // of the process before it went on

	signalStack func(sp uint64) (lo, hi uint64) // see Options
}

// A tracer is an operating system thread: to ptrace only a thread can be a tracer. When it ends,
// the kernel releases all threads that it traced.
type tracer struct {
	calls chan func()
	tid   chan int // of the thread, once
}

func newTracer() *tracer {
	t := &tracer{calls: make(chan func()), tid: make(chan int, 1)}
	go t.run(func() {})
	return t
}

// run runs the calls that it receives on one thread, after began. It does not use the main thread,
// which the runtime does not end (go1.26 runtime/proc.go, mexit).
func (t *tracer) run(began func()) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	if syscall.Gettid() == os.Getpid() {
		other := make(chan struct{})
		go t.run(func() { close(other) })
		<-other // on another thread, since this one is locked
		runtime.UnlockOSThread()
		return
	}
	began()
	t.tid <- syscall.Gettid()
	for call := range t.calls {
		call()
	}
}

func (t *tracer) do(call func() error) error {
	done := make(chan error)
	t.calls <- func() { done <- call() }
	return <-done
}

// end ends the thread, and waits until it is gone: only then can its tracees be traced again.
func (t *tracer) end() {
	task := fmt.Sprintf("/proc/self/task/%d", <-t.tid)
	close(t.calls)
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Microsecond) {
		if _, err := os.Stat(task); err != nil {
			return
		}
	}
}

// Take stops a process and copies it. If no copy is possible, it keeps the process stopped. It may
// be called again after Close. Errors are of type *remedy.Unavailable, or those of Options.Check.
func Take(pid int, options Options) (*Frozen, error) {
	if pid == os.Getpid() {
		return nil, &remedy.Unavailable{Cause: "this is the process itself", Remedy: "give the pid of another one"}
	}
	f := &Frozen{pid: pid, signalStack: options.SignalStack}
	switch {
	case options.NoFork:
		f.NotForked = "that was asked for"
	case statusOf(pid)["Seccomp"] == "2":
		f.NotForked = "the process has a seccomp filter, which could kill it for a system call"
	}
	wait := time.Millisecond
	for {
		aside, err := f.leavesAside(options.Prompt)
		if err != nil {
			return nil, err
		}
		f.Attempts++
		f.tracer = newTracer()
		err = f.tracer.do(func() error { return f.attempt(options, aside) })
		if err == nil {
			return f, nil
		}
		f.tracer.end()
		f.tracer = nil
		if !goruntime.IsTransient(err) && !errors.Is(err, errStill) && !errors.Is(err, errAwake) {
			return nil, err
		}
		if f.Attempts == maxAttempts && errors.Is(err, errAwake) {
			return nil, err
		}
		if f.Attempts == maxAttempts {
			return nil, &remedy.Unavailable{
				Cause:  fmt.Sprintf("process %d was stopped %d times, and never at a moment at which it can be read", pid, maxAttempts),
				Remedy: "try again when it has less to do, or look into a core file (-core)", Err: err,
			}
		}
		time.Sleep(wait)
		wait = min(wait+wait/2, 20*time.Millisecond)
	}
}

// Shown returns the number of the process whose files in /proc show the frozen one: that of the
// copy, or of the process itself if there is no copy.
func (f *Frozen) Shown() int { return cmp.Or(f.copied, f.pid) }

// attempt stops the process once, all of it or without its main thread. It runs on the tracer's
// thread.
func (f *Frozen) attempt(options Options, aside bool) error {
	code, err := find(f.pid)
	if err != nil {
		return Refused(f.pid, err)
	}
	s := &stopped{pid: f.pid, threads: make(map[int]*thread), code: code, signalStack: options.SignalStack, aside: aside}
	if err := s.seize(); err != nil {
		s.detach()
		return Refused(f.pid, err)
	}
	start := time.Now()
	err = s.stop(start.Add(stopTime))
	if err == nil {
		err = s.lull()
	}
	if err == nil {
		f.Threads, err = s.registers()
	}
	if err == nil && options.Check != nil {
		err = options.Check(f.Threads)
	}
	if awake := s.lulled(); awake != nil {
		err = awake
	}
	if err != nil {
		s.detach()
		return err
	}
	if f.NotForked == "" {
		f.copied, f.copyPIDInside, err = s.fork()
		switch {
		case err != nil && aside:
			f.asideFailed = err.Error()
			s.detach()
			return errAwake
		case err != nil:
			f.NotForked = err.Error()
		}
	}
	if f.copied == 0 {
		f.on, f.since = s, start
		f.memory, err = openMemory(f.pid)
		if err != nil {
			s.detach()
			return Refused(f.pid, err)
		}
		return nil
	}
	f.faults = statOf(f.pid).MinorFaults
	awake := s.lulled()
	s.detach()
	f.Pause = time.Since(start)
	if err = adopt(f.copied); err == nil {
		err = awake
	}
	if err == nil {
		f.memory, err = openMemory(f.copied)
	}
	if err != nil {
		f.reap()
		f.copied = 0
		return Refused(f.pid, err)
	}
	f.pages = newPageReturn(f.copied, code)
	return nil
}

func openMemory(pid int) (*os.File, error) { return os.Open(fmt.Sprintf("/proc/%d/mem", pid)) }

// maxCopy bounds what one call of Copy may ask for.
const maxCopy = 1 << 40

// Copy implements image.Source. Large results lie outside of the Go heap, until Close.
func (f *Frozen) Copy(ranges []image.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	total := uint64(0)
	for _, r := range ranges {
		if r.Len < maxCopy {
			total += r.Len
		}
	}
	if total > maxCopy {
		return nil, fmt.Errorf("%d bytes were asked for", total)
	}
	room := make([]byte, 0)
	if total > 0 {
		var err error
		if room, err = f.makeRoom(total); err != nil {
			return nil, fmt.Errorf("room for %d bytes: %w", total, err)
		}
	}
	for i, r := range ranges {
		if r.Len >= maxCopy || r.Addr >= 1<<63 {
			continue
		}
		to := room[:r.Len:r.Len]
		room = room[r.Len:]
		n := f.read(to, r.Addr)
		out[i] = to[:n:n]
	}
	if f.on != nil {
		return out, f.on.lulled()
	}
	return out, nil
}

// step is how much is read before the copy gives it back.
const step = 4 << 20

// read reads memory at an address, as far as it can be read. What is large is read in steps. Once
// the copy has given memory back, the process need not copy a page when it writes there.
func (f *Frozen) read(to []byte, addr uint64) (n int) {
	for n < len(to) {
		part := to[n:min(len(to), n+step)]
		got, _ := f.memory.ReadAt(part, int64(addr)+int64(n))
		if f.pages != nil && got > 0 {
			f.pages.restore(part[:got], addr+uint64(n))
			if len(to) >= largeRoom { // it stays until Close
				_ = f.tracer.do(func() error { f.pages.give(part[:got], addr+uint64(n)); return nil })
			}
		}
		if n += got; got < len(part) {
			break
		}
	}
	return n
}

// Close ends the copy without a trace in the process, or lets the process go on. It releases the
// memory that Copy returned. It may be called more than once.
func (f *Frozen) Close() error {
	err := f.resume()
	for _, b := range f.mapped {
		err = errors.Join(err, syscall.Munmap(b))
	}
	f.mapped = nil
	return err
}

func (f *Frozen) resume() error {
	if f.tracer == nil {
		return nil
	}
	err := f.memory.Close()
	t := f.tracer
	f.tracer = nil
	err = errors.Join(err, t.do(func() error {
		if f.on != nil {
			f.on.detach()
			f.Pause = time.Since(f.since)
			return nil
		}
		f.Faults = statOf(f.pid).MinorFaults - f.faults
		return f.reap()
	}))
	t.end()
	return err
}

// statOf is what the system says of a process, zeros if it does not.
func statOf(pid int) procfs.Stat {
	s, _ := procfs.ReadStat(fmt.Sprintf("/proc/%d", pid))
	return s
}
