//go:build cgo

package refscan_test

import (
	"runtime/cgo"
	"testing"
)

var gCgoHandle cgo.Handle

func init() {
	testCgoHandle = func(t *testing.T) {
		gCgoHandle = cgo.NewHandle(newCargo())
		holds(t, map[string]int64{"runtime/cgo.handles[*]": 1})
		gCgoHandle.Delete()
		holds(t, map[string]int64{})
	}
}
