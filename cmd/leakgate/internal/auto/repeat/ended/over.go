package ended

import (
	"context"
	"reflect"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// isOver reports whether what lies at an address was cancelled or closed. It changes nothing: no
// value is received, no deadline moves.
func isOver(typ reflect.Type, at unsafe.Pointer) bool {
	switch {
	case typ.Kind() == reflect.Chan:
		return isClosed(at)
	case typ.Kind() != reflect.Pointer:
		return false
	case typ.String() == "*net.pipe":
		done := reflect.NewAt(typ.Elem(), at).Elem().FieldByName("localDone") // net/pipe.go, Go 1.10 to 1.27
		return done.IsValid() && done.Kind() == reflect.Chan && isClosed(done.UnsafePointer())
	}
	switch v := reflect.NewAt(typ.Elem(), at).Interface().(type) {
	case context.Context:
		return v.Err() != nil
	case syscall.Conn: // descriptors
		c, err := v.SyscallConn()
		return err != nil || c.Control(func(uintptr) {}) != nil
	}
	return false
}

// A channel is the beginning of the runtime's hchan (runtime/chan.go, Go 1.24 to 1.27). To receive
// would take a value from the program.
type channel struct {
	_, _   uint // values in the queue, its size
	_      unsafe.Pointer
	_      uint16
	closed uint32
}

// known says that the runtime's channels are as described. If they are not, none counts as closed.
var known = func() bool {
	c := make(chan int, 1)
	at := reflect.ValueOf(c).UnsafePointer()
	before := closed(at)
	close(c)
	return before == 0 && closed(at) == 1
}()

func closed(at unsafe.Pointer) uint32 { return atomic.LoadUint32(&(*channel)(at).closed) }

func isClosed(at unsafe.Pointer) bool { return at != nil && known && closed(at) != 0 }
