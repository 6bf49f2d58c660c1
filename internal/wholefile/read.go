package wholefile

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// Most bounds files that come from elsewhere and have no bound of their own.
const Most = 512 << 20

// Read reads a file of at most limit bytes. A larger one is an error, and is not read first: what
// it is parsed into takes several times its size.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadAll(f, path, limit)
}

// ReadAll reads r, which may be a file or endless, to its end, at most limit bytes. name is its
// name in errors.
func ReadAll(r io.Reader, name string, limit int64) ([]byte, error) {
	var b bytes.Buffer
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() <= limit {
			b.Grow(int(info.Size()) + bytes.MinRead)
		} else if err == nil && info.Mode().IsRegular() {
			return nil, tooLarge(name, info.Size(), limit)
		}
	}
	n, err := b.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if n > limit {
		return nil, tooLarge(name, n, limit)
	}
	return b.Bytes(), nil
}

func tooLarge(name string, size, limit int64) error {
	return fmt.Errorf("%s has %d bytes or more, and leakgate reads no more than %d of such a file: give one that leakgate, or the program, wrote", name, size, limit)
}
