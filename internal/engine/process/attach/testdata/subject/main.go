// Command subject computes on one thread, and says when a register, its signal mask or its signal
// stack is not as it was. With a number it maps so many bytes, fills them, says where they are, and
// waits until its input ends. With a name it is one of mainThread.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

type signalStack struct {
	lo    uint64
	flags int32
	size  uint64
}

func altStack() (s signalStack) {
	syscall.RawSyscall(syscall.SYS_SIGALTSTACK, 0, uintptr(unsafe.Pointer(&s)), 0)
	return s
}

func mask() (m uint64) {
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, 0, 0, uintptr(unsafe.Pointer(&m)), 8, 0, 0)
	return m
}

// sums keeps what it adds up in registers: of integers, and of the vector unit.
//
//go:noinline
func sums(n int) (int, float64, float64, float64) {
	i, a, b, c := 0, 0.0, 0.0, 0.0
	for k := range n {
		i += k
		a += float64(k)
		b += 0.5
		c += 2
	}
	return i, a, b, c
}

func hold(text string) {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	for i := range b {
		b[i] = byte(i / 1000)
	}
	fmt.Println(uintptr(unsafe.Pointer(&b[0])))
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func main() {
	if len(os.Args) > 1 {
		if run := mainThread[os.Args[1]]; run != nil {
			run()
		}
		hold(os.Args[1])
		return
	}
	runtime.LockOSThread()
	stack, blocked := altStack(), mask()
	fmt.Println(syscall.Gettid(), stack.lo, stack.lo+stack.size)
	const n = 1_000_000
	for round := 0; ; round++ {
		i, a, b, c := sums(n)
		if i != n*(n-1)/2 || a != n*(n-1)/2 || b != n/2 || c != 2*n {
			fmt.Println("damaged registers:", i, a, b, c)
			os.Exit(1)
		}
		if s, m := altStack(), mask(); s != stack || m != blocked {
			fmt.Println("damaged signals:", s, stack, m, blocked)
			os.Exit(1)
		}
		fmt.Println(round)
	}
}
