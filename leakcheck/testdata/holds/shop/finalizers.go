package shop

import "runtime"

// A File has a finalizer or a cleanup.
type File struct {
	Name string
	Buf  []byte
}

var Files []*File

// Open makes a file whose finalizer calls a function.
func Open(closed func()) *File {
	f := &File{Buf: make([]byte, 128)}
	runtime.SetFinalizer(f, func(*File) { closed() })
	return f
}

// OpenFor makes a file with a cleanup that has a session.
func OpenFor(s *Session) *File {
	f := &File{Buf: make([]byte, 128)}
	runtime.AddCleanup(f, func(s *Session) { s.Expire() }, s)
	return f
}

func resetFinalizers() { Files = nil }
