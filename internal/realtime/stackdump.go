package realtime

import "runtime"

// maxText bounds the text, in bytes: the traces of about 100,000 goroutines.
const maxText = 64 << 20

// AllStacks returns the stack traces of all goroutines but the runtime's own, the caller's first,
// as runtime.Stack writes them. The world stops meanwhile. It returns "" if they are longer than 64
// MiB.
func AllStacks() string {
	for size := 64 << 10; size <= maxText; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return string(buf[:n])
		}
	}
	return ""
}
