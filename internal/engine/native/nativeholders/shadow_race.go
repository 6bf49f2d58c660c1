//go:build race && linux && amd64

package nativeholders

// Memory in which the race detector records who reads and writes memory: nothing there is an
// address (LLVM, compiler-rt/lib/tsan/rtl/tsan_platform.h, MappingGoLinux).
const shadowStart, shadowEnd = 0x200000000000, 0x400000000000
