package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// A File is one of a folder's. Without data there is none.
type File struct {
	Name string
	Data []byte
}

// WriteFolder makes a folder in dir, which has to exist, with files. It is written under a temporary
// name and renamed, so that whoever sees it sees all of it; what fails leaves nothing. Where the name
// is taken it gets a number at its end. It returns the folder's path.
func WriteFolder(dir, name string, files []File) (path string, err error) {
	temporary := filepath.Join(dir, ".leakgate"+TemporaryMark+strconv.Itoa(os.Getpid())+"-"+strconv.FormatInt(temporaries.Add(1), 10))
	// What a killed process with the same id left is in the way.
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
