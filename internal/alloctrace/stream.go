package alloctrace

import (
	"bufio"
	"errors"
	"io"
)

// maxTaken bounds one generation of a trace, in bytes; a generation is about a second of a program.
const maxTaken = 1 << 30

// A stream reads numbers from a trace that is being written, as a reader does from bytes.
type stream struct {
	in    *bufio.Reader
	taken uint64 // bytes of batches in the generation that is being read
	err   error
}

func (s *stream) more() bool {
	if s.err != nil {
		return false
	}
	_, err := s.in.Peek(1)
	if err != nil && err != io.EOF {
		s.fail(err)
	}
	return err == nil
}

func (s *stream) byte() byte {
	if s.err != nil {
		return 0
	}
	b, err := s.in.ReadByte()
	if err != nil {
		s.fail(errShort)
	}
	return b
}

// number reads a varint of at most 10 bytes.
func (s *stream) number() (n uint64) {
	for shift := 0; shift < 70 && s.err == nil; shift += 7 {
		b := s.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	s.fail(errors.New("the trace has a number that is too long"))
	return 0
}

func (s *stream) bytes(n uint64) []byte {
	if s.err != nil {
		return nil
	}
	if s.taken += n; n > maxTaken || s.taken > maxTaken {
		s.fail(errors.New("the trace has more than 1 GiB for one second"))
		return nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(s.in, b); err != nil {
		s.fail(errShort)
		return nil
	}
	return b
}

func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}
