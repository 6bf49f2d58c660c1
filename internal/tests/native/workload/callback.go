//go:build cgo && linux

package workload

import "C"

//export goCallback
//go:noinline
func goCallback(n C.size_t) { Outer(int(n)) }
