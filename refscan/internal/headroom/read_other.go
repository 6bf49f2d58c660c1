//go:build !linux

package headroom

import "os"

func readFile(name string) ([]byte, error) { return os.ReadFile(name) }
