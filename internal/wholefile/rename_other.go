//go:build !windows

package wholefile

import "os"

func rename(from, to string) error { return os.Rename(from, to) }
