//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package filelock

import (
	"errors"
	"os"
)

// Try returns errors.ErrUnsupported: there are no locks here.
func Try(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func claim(f *os.File) (bool, error) { return Try(f) }

func removeUnclaimed(string) {}
