package dump

import (
	"bufio"
	"bytes"
	"fmt"
)

// maxLine bounds a line of a text, in bytes. Names of functions with their types can be long.
const maxLine = 1 << 20

// EachLine calls read with each line of a text and its number, from 1 on, until read returns an
// error. A line of more than 1 MiB is an error.
func EachLine(text []byte, read func(n int, line string) error) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if err := read(n, lines.Text()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}
