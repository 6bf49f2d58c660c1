package isolate

import (
	"bufio"
	"errors"
	"io"
)

// maxLine is the most bytes of a line that are read at once; a longer line comes in pieces.
const maxLine = 1 << 20

// lines reads lines, each with its line end.
type lines struct{ r *bufio.Reader }

func newLines(r io.Reader) *lines { return &lines{bufio.NewReaderSize(r, maxLine)} }

// next returns the next line, or the piece of one. It is valid until the next call.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return line, err
}
