package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// A File is a file of a folder. Without data it is not written.
type File struct {
	Name string
	Data []byte
}

// WriteFolder makes a folder with files in dir, which has to exist. The folder is written under a
// temporary name and renamed, so that a reader sees all of it; a failure leaves nothing. Where the
// name is taken it gets a number at its end. WriteFolder returns the folder's path.
func WriteFolder(dir, name string, files []File) (path string, err error) {
	temporary := filepath.Join(dir, ".leakgate"+TemporaryMark+strconv.Itoa(os.Getpid())+"-"+strconv.FormatInt(temporaries.Add(1), 10))
	// A killed process with the same id may have left a folder with this name.
	if err := errors.Join(os.RemoveAll(temporary), os.Mkdir(temporary, 0o777)); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(temporary)
		}
	}()
	for _, f := range files {
		if len(f.Data) > 0 {
			if err := os.WriteFile(filepath.Join(temporary, f.Name), f.Data, 0o666); err != nil {
				return "", err
			}
		}
	}
	path = filepath.Join(dir, name)
	for i := 2; ; i++ {
		if _, err = os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			if err = os.Rename(temporary, path); !errors.Is(err, fs.ErrExist) {
				return path, err
			}
		} else if err != nil {
			return "", err
		}
		if i == maxLeft {
			return "", &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrExist}
		}
		path = filepath.Join(dir, name+"-"+strconv.Itoa(i))
	}
}
