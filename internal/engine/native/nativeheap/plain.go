//go:build !asan && !msan

package nativeheap

// instrumented is how the program was built, if that replaces malloc.
const instrumented = ""
