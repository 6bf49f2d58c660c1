//go:build !linux

package freeze

import (
	"time"
	_ "unsafe" // for go:linkname
)

// Many programs read the runtime's clock so, and it stays for them (go1.26 and go1.27
// runtime/time_nofake.go).
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Clock is the clock that the runtime's timers go by. time.Now stands still in a bubble of
// testing/synctest while anything runs.
func Clock() time.Duration { return time.Duration(nanotime()) }
