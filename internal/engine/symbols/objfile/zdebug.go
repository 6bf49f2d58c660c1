package objfile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
)

// maxDeflate is how many bytes one byte of a deflate stream can stand for (RFC 1951, 3.2.5: two
// bits for 258 bytes).
const maxDeflate = 1032

// ReadZdebug returns the contents of a section .zdebug_*, as Go's linker writes them where the
// format has no compressed sections: "ZLIB", the size as eight bytes, big-endian, and a zlib
// stream.
func (f *File) ReadZdebug(s *Section) ([]byte, error) {
	const magic, header = "ZLIB", 12
	b, err := f.Raw(s, s.FileSize)
	if err != nil {
		return nil, err
	}
	if len(b) < header || string(b[:len(magic)]) != magic {
		return nil, errors.New("it is not compressed as its name says")
	}
	return inflate(b[header:], binary.BigEndian.Uint64(b[len(magic):]))
}

// inflate returns the size bytes that a zlib stream holds.
func inflate(stream []byte, size uint64) ([]byte, error) {
	if size > uint64(len(stream))*maxDeflate {
		return nil, errors.New("its size is more than its contents can give")
	}
	z, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	out := make([]byte, size)
	if _, err = io.ReadFull(z, out); err != nil {
		return nil, err
	}
	return out, z.Close()
}
