//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package filelock

import (
	"errors"
	"os"
)

const openFlags = 0

// Try says that there are no locks here.
func Try(*os.File) (bool, error) { return false, errors.ErrUnsupported }
