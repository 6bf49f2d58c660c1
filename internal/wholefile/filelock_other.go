//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package wholefile

import (
	"errors"
	"os"
)

// noWait: to open a file waits for nobody here.
const noWait = 0

// TryLock returns errors.ErrUnsupported: there are no locks here.
func TryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func claim(f *os.File) (bool, error) { return TryLock(f) }

func removeUnclaimed(string) {}
