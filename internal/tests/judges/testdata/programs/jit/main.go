// A program that makes 10,000 functions while it runs, and a map of them for Linux's perf. It writes
// a profile of the form that gperftools writes, to the file that its argument names: each function
// has allocated one block. It prints the name of the map.
package main

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

const (
	functions = 10_000
	size      = 64 // of a function
)

func main() {
	code, err := syscall.Mmap(-1, 0, functions*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	must(err)
	at := uint64(uintptr(unsafe.Pointer(&code[0])))
	for i := range code {
		code[i] = 0xc3 // as on amd64: return
	}
	must(syscall.Mprotect(code, syscall.PROT_READ|syscall.PROT_EXEC))

	var perfMap, profile bytes.Buffer
	fmt.Fprintf(&profile, "heap profile: %d: %d [%[1]d: %[2]d] @ heapprofile\n", functions, functions*(functions+1)/2)
	for i := range uint64(functions) {
		fmt.Fprintf(&perfMap, "%x %x script::f%d\n", at+i*size, size, i)
		// The profile has return addresses.
		fmt.Fprintf(&profile, "%d: %d [%[1]d: %[2]d] @ %#[3]x\n", 1, i+1, at+i*size+9)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	must(err)
	fmt.Fprintf(&profile, "\nMAPPED_LIBRARIES:\n%s", maps)
	must(os.WriteFile(os.Args[1], profile.Bytes(), 0o666))
	name := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	must(os.WriteFile(name, perfMap.Bytes(), 0o666))
	fmt.Println(name)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
