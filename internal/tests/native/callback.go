//go:build cgo && linux

package native

import "C"

//export goCallback
//go:noinline
func goCallback(n C.size_t) { outer(int(n)) }
