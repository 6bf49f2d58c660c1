// Package wholefile writes files as a whole: a reader sees all of a file, or the file that was
// there before. It also reads files as a whole, up to a limit, and locks files between processes: a
// lock ends with the process that holds it, so it tells whether the process that made a temporary
// file or folder still lives.
package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

// TemporaryMark is in the name of every temporary file. It identifies the files that killed
// processes left (see RemoveUnclaimed).
const TemporaryMark = ".tmp-"

// Write calls write with a file that has a temporary name beside path. If write returns no error,
// it renames the file to path. Else it removes the file, and path is as it was. The file's
// permissions are mode less the umask, also where path exists. The folder has to exist. Several
// goroutines and processes may write the same path: one of them is last.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := create(path, mode)
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if !renamed {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := patiently(func() error { return os.Rename(f.Name(), path) }); err != nil {
		return err
	}
	renamed = true
	return nil
}

// Open opens an ordinary file to read it. What is none is an error at once: to open a named pipe
// would wait for its writer. Write may be replacing the file: Windows refuses to open it for that
// moment.
func Open(path string) (f *os.File, err error) {
	if err = patiently(func() error {
		f, err = os.OpenFile(path, os.O_RDONLY|noWait, 0)
		return err
	}); err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errSpecial}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

var errSpecial = errors.New("not a regular file")

// WriteData is Write for data in memory.
func WriteData(path string, mode fs.FileMode, data []byte) error {
	return Write(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// temporaries counts the temporary files of this process.
var temporaries atomic.Int64

// maxLeft is how many names that are already taken are passed over.
const maxLeft = 1000

// create opens a new file beside path. Its name contains nothing of the final name, which may be as
// long as names can be. In containers, process ids come again, so that a file of a killed process
// may have the name.
func create(path string, mode fs.FileMode) (f *os.File, err error) {
	dir, _ := filepath.Split(path) // not cleaned: behind a symbolic link, .. is another folder
	prefix := dir + ".leakgate" + TemporaryMark + strconv.Itoa(os.Getpid()) + "-"
	for range maxLeft {
		path := prefix + strconv.FormatInt(temporaries.Add(1), 10)
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		switch {
		case errors.Is(err, fs.ErrExist):
		case err != nil || Claim(f, path):
			return f, err
		default:
			_ = f.Close()
			err = fs.ErrExist
		}
	}
	return nil, err
}
