//go:build !linux

package freeze

import (
	"time"
	_ "unsafe" // for go:linkname
)

// Many programs link to the runtime's clock like this, so the runtime keeps it for them (go1.26 and
// go1.27 runtime/time_nofake.go).
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Clock is the time of the clock that the runtime's timers use. In a bubble of testing/synctest
// time.Now stands still while any goroutine runs.
func Clock() time.Duration { return time.Duration(nanotime()) }
