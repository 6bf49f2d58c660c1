package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var spins atomic.Uint64

func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(7)
}

// keepRunning has the runtime leave this thread its goroutine, as long as that calls no function
// that could be preempted. Otherwise the runtime takes it off the thread now and then, and the
// thread sleeps.
func keepRunning() {
	runtime.GOMAXPROCS(2) // other goroutines go on
	blocked := uint64(1) << (syscall.SIGURG - 1)
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, 0, uintptr(unsafe.Pointer(&blocked)), 0, 8, 0, 0)
}

// mainThread are programs by their argument; each has the main thread for itself.
var mainThread = map[string]func(){
	// rest waits until its input ends, and ends with code 7.
	"rest": endWithInput,
	// spin says so once the main thread no longer sleeps.
	"spin": func() {
		go func() {
			for spins.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			fmt.Println("spins")
			endWithInput()
		}()
		keepRunning()
		for {
			spins.Add(1)
		}
	},
	// write has equal words in all of its memory whenever the main thread sleeps, which it does
	// without the help of another thread.
	"write": func() {
		go endWithInput()
		const size, every = 8 << 20, 512
		b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			panic(err)
		}
		words := unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), size/8)
		fmt.Println(uintptr(unsafe.Pointer(&b[0])))
		pause, err := time.ParseDuration(os.Getenv("SUBJECT_PAUSE"))
		if err != nil {
			panic(err)
		}
		keepRunning()
		for n := uint64(1); ; n++ {
			for i := 0; i < len(words); i += every {
				words[i] = n
			}
			ts := syscall.NsecToTimespec(int64(pause))
			_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
		}
	},
}

func init() {
	if len(os.Args) > 1 && mainThread[os.Args[1]] != nil {
		runtime.LockOSThread()
	}
}
